"""Which faults a cluster's run has, how many brokers and clients: drawn from the seed.

Swarm testing, as in `simulation.faults`: each seed draws a few kinds and leaves the others out.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from simulation.cluster.group_plan import GROUP_KINDS, GroupTimes
from simulation.cluster.sharing_plan import SharingTimes
from simulation.faults import NetworkFaults
from simulation.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KINDS = (
    "crash",
    "stop",
    "fence",
    "cut",
    "cut_controller",
    "hold",
    "hold_controller",
    "slow",
    "slow_controller",
    "isolate",
    "reset",
    "hold_follower",
    "hold_high_watermark",
    "deaf_leader",
    "move_leader",
    "shrink_isr",
    "elect_preferred",
    "elect_unclean",
    "reassign",
    "min_isr",
    "topics",
    "skew",
    "versions",
    "cut_clients",
    "delays",
)
CREW_KINDS: tuple[str, ...] = (
    *GROUP_KINDS,
    "fetch_sessions",
    "lose_tail",
    "delete_records",
    "retention",
    "compaction",
    "full_disk",
    "snapshot",
    "admin",
    "offsets",
    "skip_idle",
    "look_ups",
    "formats",
    "scope",
    "expiry",
    "inquiries",
    "strangers",
    "rules",
    "journal",
    "memory",
    "telemetry",
    "coop",
    "acls",
    "carriers",
    "logins",
    "quorum",
    "views",
    "dawdlers",
    "late_answers",
    "late_news",
    "hasty",
    "wavering",
    "restarts",
    "deaf_stop",
    "founders",
)
"""Kinds that crews look at; each is drawn by itself, so that another one changes no seed."""
COMPACTED = "c0"
SHORT_LIVED = "r0"
DELETED = "d0"
FORMATTED = "f0"
SHARED = "s0"
STORAGE_TOPICS = {
    "compaction": COMPACTED,
    "retention": SHORT_LIVED,
    "delete_records": DELETED,
    "formats": FORMATTED,
    "coop": SHARED,
}
SEGMENT = ("internal.segment.bytes", "400")
TOPIC_CONFIGS: dict[str, tuple[tuple[str, str], ...]] = {
    COMPACTED: (
        ("cleanup.policy", "compact"),
        ("min.cleanable.dirty.ratio", "0.1"),
        ("delete.retention.ms", "100"),
        SEGMENT,
    ),
    DELETED: (SEGMENT,),
    FORMATTED: (("compression.type", "gzip"), ("message.timestamp.type", "LogAppendTime")),
    SHORT_LIVED: (("retention.ms", "400"), ("retention.bytes", "1500"), SEGMENT),
}
"""What is special about some topics."""
UPKEEP_TIMES = {
    "log.initial.task.delay.ms": "0",
    "log.retention.check.interval.ms": "100",
    "log.cleaner.backoff.ms": "50",
}
THEMES = (
    ("deaf_leader",),
    ("deaf_leader", "crash"),
    ("hold_follower", "hold_controller"),
    ("hold_follower", "slow_controller", "shrink_isr"),
    ("hold", "cut_controller", "crash"),
    ("isolate", "hold_follower"),
    ("isolate", "crash"),
    ("isolate", "move_leader", "delays"),
    ("crash", "cut"),
    ("hold_follower", "hold_high_watermark", "move_leader"),
)
"""Kinds that lead far together: half of the seeds have one of these whole."""
COORDINATOR_THEMES = (
    ("hold_follower", "crash"),
    ("hold_high_watermark", "crash"),
    ("hold_high_watermark", "move_leader"),
    ("hold_follower", "move_leader", "cut_clients"),
    ("isolate", "crash"),
    ("fence", "hold"),
)
"""The same where coordinators are picked on."""
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
SUPER_USERS = {"super.users": "User:ANONYMOUS"}
"""Who everybody is but those whom ACLs are about."""
LOGIN_LISTENER, SIGNED_LISTENER = "SASL", "SIGNED"
TOKEN_ROUNDS_MS = 300
OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
LOGINS = {
    "listener.security.protocol.map": (
        f"PLAINTEXT:PLAINTEXT,{LOGIN_LISTENER}:SASL_PLAINTEXT,{SIGNED_LISTENER}:SASL_PLAINTEXT"
    ),
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "listener.name.sasl.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'user_alice="alice-secret" user_admin="admin-secret";'
    ),
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'user_carol="carol-secret";'
    ),
    "listener.name.sasl.oauthbearer.sasl.jaas.config": (
        f'{OAUTH_MODULE} unsecuredValidatorRequiredScope="read" '
        'unsecuredValidatorAllowableClockSkewMs="100";'
    ),
    "listener.name.signed.sasl.enabled.mechanisms": "OAUTHBEARER",
    "listener.name.signed.oauthbearer.sasl.jaas.config": (
        f'{OAUTH_MODULE} validatorRequiredScope="read";'
    ),
    "listener.name.signed.oauthbearer.sasl.server.callback.handler.class": (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
    ),
    "listener.name.signed.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": "auto",
    "listener.name.signed.oauthbearer.sasl.oauthbearer.expected.issuer": "https://issuer.test",
    "listener.name.signed.oauthbearer.sasl.oauthbearer.expected.audience": "brokers,clients",
    "listener.name.signed.oauthbearer.sasl.oauthbearer.clock.skew.seconds": "2",
    "delegation.token.secret.key": "known-to-brokers-alone",
    "delegation.token.expiry.check.interval.ms": str(TOKEN_ROUNDS_MS),
    "connections.max.reauth.ms": "60000",
}
"""Listeners beside the one of all other clients, where who connects must log in."""
MEMORY = {"queued.max.request.bytes": "100000", "socket.request.max.bytes": "100000"}
"""Two large requests at once are more."""
CARRIER = {"coop.metadata.carrier": "true"}
"""Ranges may be committed, and are told, in the metadata of offsets."""
EXPIRATION_MS, EXPIRY_CHECK_MS = 100_000, 10_000
"""Longer than any run lasts until all is at rest."""
RETENTION_MINUTES, RETENTION_CHECK_MS = 2, 5_000
"""The same of groups' offsets, which begin to expire when their group is empty."""
EXPIRIES = {
    "transactional.id.expiration.ms": str(EXPIRATION_MS),
    "transaction.remove.expired.transaction.cleanup.interval.ms": str(EXPIRY_CHECK_MS),
    "producer.id.expiration.ms": str(EXPIRATION_MS),
    "producer.id.expiration.check.interval.ms": str(EXPIRY_CHECK_MS),
    "offsets.retention.minutes": str(RETENTION_MINUTES),
    "offsets.retention.check.interval.ms": str(RETENTION_CHECK_MS),
}
SESSION_TIMEOUT_MS = 600
CLUSTER_TIMES = {
    "replica.lag.time.max.ms": "500",
    "replica.fetch.wait.max.ms": "200",
    "replica.fetch.backoff.ms": "50",
    "replica.socket.timeout.ms": "500",
    "broker.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "broker.heartbeat.interval.ms": "200",
    "leader.imbalance.check.interval.seconds": "2",
    "fetch.purgatory.purge.interval.requests": "5",
    "producer.purgatory.purge.interval.requests": "5",
}
"""Short ones, so that much happens in little time."""
LIVES_MS = (500.0, 500.0, 1_000.0, 2_000.0)
"""How long clients and operators work before all is healed."""
DELAYS_MS = (1.0, 20.0, 150.0, 600.0)
"""What a slow link may take for a message."""
MAX_SKEW_MS = 100_000
"""How far a clock may be moved."""


class ClusterPlan:
    """What is on in this run. `on` holds kinds of `KINDS`; the rest are sizes and rates."""

    def __init__(self, rng: Random) -> None:
        share = rng.choice((0.0, 0.1, 0.2, 0.3, 0.5))
        self.on: dict[str, bool] = {kind: rng.random() < share for kind in KINDS}
        if rng.random() < 0.5:
            self.on.update(dict.fromkeys(rng.choice(THEMES), True))
        self.focused = rng.random() < 0.5
        """Whether the operator mostly picks on one partition, its leader and one follower."""
        self.brokers = rng.choice((3, 3, 3, 4, 5))
        self.racks = [f"r{node % 2}" for node in range(self.brokers)]
        self.topics = {f"t{n}": rng.randint(1, 2) for n in range(rng.randint(1, 2))}
        self.min_isr = rng.choice((1, 2, 2, 3))
        self.unclean = rng.random() < 0.2
        """Whether the topics let the controller elect who may have lost records."""
        self.length = rng.choice(range(len(LIVES_MS)))
        """Which of `LIVES_MS`."""
        self.active_ms = LIVES_MS[self.length]
        self.every_ms = rng.choice((40.0, 120.0, 300.0))
        """The operator acts about so often."""
        self.producers = rng.randint(1, 3)
        self.consumers = rng.randint(1, 2)
        self.committers = rng.randint(0, 1)
        self.max_delay_ms = rng.choice((2.0, 20.0, 100.0)) if self.on["delays"] else 0.0
        self.cut_every_ms = rng.choice((200.0, 1_000.0)) if self.on["cut_clients"] else 0.0
        base = rng.random()
        for kind in CREW_KINDS:
            self.on[kind] = Random(f"{base}/{kind}").random() < max(share, 0.2)
        if self.on["hasty"]:
            self.on["classic_group"] = True
        if self.on["restarts"] and not self.on["classic_group"]:
            self.on["consumer_group"] = True
        self.focuses_offsets = False
        """Whether that is the partition of offsets."""
        self._draw_transactions(Random(f"{base}/transactions"))
        self.group_times = GroupTimes(Random(f"{base}/groups"), skewed=self.on["skew"])
        self._draw_offsets(Random(f"{base}/offsets"))
        if self.min_isr < 2 or self.on["min_isr"]:
            self.on["lose_tail"] = False  # what was acknowledged may be lost then
        if self.on["skew"]:
            self.on["expiry"] = False  # clocks that are ahead let it happen at once
        if self.on["admin"] or self.on["strangers"]:
            self.on["acls"] = False  # theirs are about everybody
        self.everyone = Random(f"{base}/everyone").random() < 0.5
        """Whether what no ACL is about is allowed to everyone, beside those who check ACLs."""
        if self.may_lose:
            self.on["coop"] = False  # what was committed of what is lost is committed anew
        self.on["carriers"] = self.on["carriers"] and self.on["coop"]
        is_short = Random(f"{base}/shortages").random() < 0.7
        self.on["shortages"] = is_short and self.on["coop"]
        if self.on["coop"]:
            self.group_times.max_size = 1_000  # groups that share partitions may be larger
        times = Random(f"{base}/quorum")
        self.quorum_times = times.choice((0, 50, 500)), times.choice((0, 0, 30))
        if self.on["expiry"] and self.quorum_times[0]:
            # A record that says nothing comes every few ms: no idle round is skipped between, and
            # minutes pass until all has expired.
            self.on["quorum"] = False
        self.sharing = SharingTimes(Random(f"{base}/sharing"))
        self.flush_messages = Random(f"{base}/flush").choice((None, 1, 3, 10))
        self.tombstones_stay = Random(f"{base}/tombstones").random() < 0.5
        """Whether they outlive the run where they are compacted."""
        self.limits = Limits(Random(f"{base}/limits"), self.on)
        self.without: Sequence[str] = ()
        """Clients that a shrunk run does without, by name."""

    def _draw_transactions(self, rng: Random) -> None:
        """Many seeds have some, but none where an election may take back what was committed."""
        on = self.on["transactions"] = rng.random() < 0.6 and not self.may_lose
        self.transactors = rng.randint(1, 3) if on else 0
        """Transactional ids whose producers only produce."""
        self.processors = rng.randint(0, 2) if on else 0
        """Those that consume, transform and produce."""
        self.committed_readers = rng.randint(1, 2)
        self.succession_chance = rng.choice((0.0, 0.02, 0.1))
        """How likely a successor comes before each step of an incarnation."""
        self.state_partitions = rng.choice((1, 1, 2))
        self.focuses_coordinators = on and rng.random() < 0.6
        """Whether the operator picks on the partition of a coordinator, if it is focused."""
        if self.focuses_coordinators and rng.random() < 0.7:
            self.focused = True
            self.on.update(dict.fromkeys(rng.choice(COORDINATOR_THEMES), True))
        if self.processors:
            self.topics["out"] = rng.randint(1, 2)

    def _draw_offsets(self, rng: Random) -> None:
        """The partition of offsets is picked on, while groups commit and ask."""
        if self.on["offsets"] and not self.focuses_coordinators:
            self.focuses_offsets = self.focused = True
            self.on["consumer_group" if rng.random() < 0.5 else "classic_group"] = True
            self.on.update(dict.fromkeys(rng.choice(COORDINATOR_THEMES), True))

    def change(self, changes: Mapping[str, object]) -> None:
        """Take other sizes than were drawn, by name; `off` are kinds to turn off."""
        for name, size in changes.items():
            if name == "off":
                assert isinstance(size, list)
                self.on.update(dict.fromkeys(size, False))
            else:
                assert hasattr(self, name), name
                setattr(self, name, size)

    @property
    def network(self) -> NetworkFaults:
        """How the network treats clients' bytes."""
        return NetworkFaults(
            max_delay_ms=self.max_delay_ms if self.on["delays"] else 0.0,
            cut_every_ms=self.cut_every_ms if self.on["cut_clients"] else 0.0,
        )

    @property
    def may_lose(self) -> bool:
        """Whether an election may take back what was committed."""
        return self.unclean or self.on["elect_unclean"]

    @property
    def all_topics(self) -> dict[str, int]:
        """Those of all runs, and those that its kinds add: clients of crews keep to `topics`."""
        added = {name: 1 for kind, name in STORAGE_TOPICS.items() if self.on[kind]}
        return {**self.topics, **added}

    def topic_configs(self, name: str) -> tuple[tuple[str, str], ...]:
        """The configs that a topic is created with."""
        configs = [("unclean.leader.election.enable", str(self.unclean).lower())]
        if self.on["lose_tail"] and self.flush_messages is not None:
            configs.append(("flush.messages", str(self.flush_messages)))
        known = dict(TOPIC_CONFIGS.get(name, ()))
        if name == COMPACTED and self.tombstones_stay:
            known["delete.retention.ms"] = "86400000"
        return (*configs, *known.items())

    def config(self) -> dict[str, str]:
        """The brokers' config."""
        return {
            **CLUSTER_TIMES,
            **UPKEEP_TIMES,
            **(self._transaction_config() if self.on["transactions"] else {}),
            **self.group_times.config(),
            **(EXPIRIES if self.on["expiry"] else {}),
            **({"telemetry.max.bytes": "1000"} if self.on["telemetry"] else {}),
            **(MEMORY if self.on["memory"] else {}),
            **(LOGINS if self.on["logins"] else {}),
            **self._authorizer_config(),
            **(self.sharing.config() if self.on["coop"] else {}),
            **(CARRIER if self.on["carriers"] else {}),
            **(self._quorum_config() if self.on["quorum"] else {}),
            "auto.create.topics.enable": "false",
            "offsets.topic.num.partitions": "1",
            "min.insync.replicas": str(self.min_isr),
            "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        }

    def _authorizer_config(self) -> dict[str, str]:
        if self.on["acls"]:
            everyone = str(self.everyone).lower()
            return {**AUTHORIZER, **SUPER_USERS, "allow.everyone.if.no.acl.found": everyone}
        return AUTHORIZER if self.on["admin"] or self.on["strangers"] else {}

    def _quorum_config(self) -> dict[str, str]:
        """How often a record is written that says nothing (0: none), and how late commits are."""
        idle_ms, delay_ms = self.quorum_times
        return {
            "metadata.max.idle.interval.ms": str(idle_ms),
            "mockbroker.quorum.commit.delay.ms": str(delay_ms),
        }

    def _transaction_config(self) -> dict[str, str]:
        return {
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
            "transaction.state.log.num.partitions": str(self.state_partitions),
            "transaction.state.log.replication.factor": "3",
            "transaction.state.log.min.isr": str(min(self.min_isr, 2)),
            "offsets.topic.replication.factor": "3",
            "request.timeout.ms": "2000",
        }

    def __str__(self) -> str:
        kinds = " ".join(kind for kind, is_on in self.on.items() if is_on)
        return (
            f"{self.brokers} brokers, topics {self.topics}, min ISR {self.min_isr}"
            f"{', unclean' if self.unclean else ''}, {self.producers} producers, "
            f"{self.consumers} consumers, {self.transactors} transactional producers, "
            f"{self.processors} processors, {self.active_ms:.0f} ms, "
            f"{'focused ' if self.focused else ''}faults: {kinds or '-'}"
        )
