"""Those who ask simulated brokers, by any API and version, for what there is not or is not theirs.

Their requests are made from the messages' schemas (`filled_requests`), small and large, so that
each API that brokers serve is asked. What there is not is answered with an error for each thing
that was named, what an ACL keeps from them with its refusal, and neither changes anything. A
broker that answers later, because its controller must be asked, is not waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.acls import Acl
from mockbroker_protocol.api_keys import API_SPECS, ApiKey
from mockbroker_protocol.errors import ErrorCode as Code
from mockbroker_protocol.fetch_codec import decode_fetch_response
from mockbroker_protocol.headers import decode_response_header
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.plan import decode
from simulation.clients import frame_of
from simulation.cluster.clients import ClusterClient
from simulation.cluster.crews import Crew
from simulation.cluster.filled_requests import Subject, api_name, filled, leaf_errors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from simulation.cluster.crews import CrewSetting
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

PAUSE_MS = 120.0
NOBODY, SECRET = "of-strangers", "secret"
LARGE: Final = 700
"""Elements of a large request: its frame is worked on in slices."""
LARGE_CHANCE = 0.04
SECRET_TYPES: Final = (2, 3, 5)
PREFIXED, DENY, ALL = 4, 2, 2
TOPIC = Code.TOPIC_AUTHORIZATION_FAILED
GROUP = Code.GROUP_AUTHORIZATION_FAILED
TRANSACTION = Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

REFUSED: Final[Mapping[ApiKey, tuple[Code, int]]] = {
    ApiKey.PRODUCE: (TOPIC, 12),
    ApiKey.FETCH: (TOPIC, 12),
    ApiKey.ADD_PARTITIONS_TO_TXN: (TRANSACTION, 3),
} | {
    key: (code, 99)
    for code, keys in (
        (
            TOPIC,
            (
                "LIST_OFFSETS METADATA DELETE_RECORDS DESCRIBE_CONFIGS ALTER_CONFIGS "
                "CREATE_PARTITIONS INCREMENTAL_ALTER_CONFIGS DESCRIBE_PRODUCERS "
                "DESCRIBE_TOPIC_PARTITIONS"
            ),
        ),
        (
            GROUP,
            (
                "OFFSET_COMMIT OFFSET_FETCH FIND_COORDINATOR JOIN_GROUP HEARTBEAT LEAVE_GROUP "
                "SYNC_GROUP DESCRIBE_GROUPS DELETE_GROUPS OFFSET_DELETE CONSUMER_GROUP_HEARTBEAT "
                "CONSUMER_GROUP_DESCRIBE"
            ),
        ),
        (
            TRANSACTION,
            "INIT_PRODUCER_ID ADD_OFFSETS_TO_TXN END_TXN TXN_OFFSET_COMMIT DESCRIBE_TRANSACTIONS",
        ),
    )
    for key in map(ApiKey.__getitem__, keys.split())
}
"""What an ACL's refusal is by API, up to a version from which on the name is not told."""

MOVED: Final = frozenset(
    (Code.NOT_COORDINATOR, Code.COORDINATOR_NOT_AVAILABLE, Code.COORDINATOR_LOAD_IN_PROGRESS)
)
UNKNOWN: Final[Mapping[ApiKey, frozenset[int]]] = {
    ApiKey[key]: frozenset(codes)
    for keys, codes in (
        ("PRODUCE FETCH", (Code.UNKNOWN_TOPIC_OR_PARTITION, Code.UNKNOWN_TOPIC_ID)),
        (
            (
                "LIST_OFFSETS METADATA DELETE_RECORDS OFFSET_FOR_LEADER_EPOCH WRITE_TXN_MARKERS "
                "DESCRIBE_CONFIGS DESCRIBE_PRODUCERS DESCRIBE_TOPIC_PARTITIONS DESCRIBE_QUORUM"
            ),
            (Code.UNKNOWN_TOPIC_OR_PARTITION,),
        ),
        (
            "DELETE_TOPICS CREATE_PARTITIONS ELECT_LEADERS ALTER_PARTITION_REASSIGNMENTS",
            (Code.UNKNOWN_TOPIC_OR_PARTITION, Code.REQUEST_TIMED_OUT, Code.NOT_CONTROLLER),
        ),
        (
            "ADD_PARTITIONS_TO_TXN TXN_OFFSET_COMMIT OFFSET_COMMIT",
            (Code.UNKNOWN_TOPIC_OR_PARTITION, Code.UNKNOWN_TOPIC_ID, *MOVED),
        ),
        ("HEARTBEAT LEAVE_GROUP SYNC_GROUP", (Code.UNKNOWN_MEMBER_ID, *MOVED)),
        ("DELETE_GROUPS OFFSET_DELETE CONSUMER_GROUP_DESCRIBE", (Code.GROUP_ID_NOT_FOUND, *MOVED)),
        ("DESCRIBE_TRANSACTIONS", (Code.TRANSACTIONAL_ID_NOT_FOUND, *MOVED)),
        ("ADD_OFFSETS_TO_TXN END_TXN", (Code.INVALID_PRODUCER_ID_MAPPING, *MOVED)),
        (
            "ALTER_CONFIGS INCREMENTAL_ALTER_CONFIGS",
            (Code.INVALID_CONFIG, Code.REQUEST_TIMED_OUT, Code.NOT_CONTROLLER),
        ),
        ("ALTER_REPLICA_LOG_DIRS", (Code.LOG_DIR_NOT_FOUND,)),
        ("UNREGISTER_BROKER", (Code.BROKER_ID_NOT_REGISTERED, Code.REQUEST_TIMED_OUT)),
        ("DESCRIBE_CLIENT_QUOTAS", (Code.UNSUPPORTED_VERSION,)),
        ("ADD_RAFT_VOTER REMOVE_RAFT_VOTER", (Code.INCONSISTENT_CLUSTER_ID,)),
    )
    for key in keys.split()
}
"""The errors of what there is not, by API."""


class Stranger(ClusterClient):
    """Asks for one thing after another."""

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.topics)
        self.refused = self.unknown = 0

    def start(self) -> None:
        """Some names are kept from everybody."""
        acls = [Acl(kind, SECRET, PREFIXED, "User:*", "*", ALL, DENY) for kind in SECRET_TYPES]
        self.world.operate(lambda: self.world.cluster.controller.create_acls(acls))
        super().start()

    def begin(self) -> None:
        if self.rng.random() < 0.5:
            self._ask_for_the_unknown()
        else:
            self._ask_for_secrets()
        self.later(self.rng.random() * PAUSE_MS)

    def _ask(self, key: ApiKey, versions: range, name: str) -> list[int] | None:
        """The errors of what is named; None: no answer now."""
        node, count = self.any_node(), 1
        broker = self.world.cluster.broker(node)
        if self.rng.random() < LARGE_CHANCE:
            count = LARGE
        version = self.rng.choice(versions)
        frame = frame_of(filled(key, version, Subject(name, count)), version, 1, self.name)
        answers = [] if broker is None else self.world.probe(frame, broker)
        if not answers:
            return None
        data = answers[0]
        _, pos = decode_response_header(data, key, version)
        self.note(f"{api_name(key)} v{version} of {count} at {node}")
        if key is ApiKey.FETCH:
            answer: object = decode_fetch_response(data, pos, version)
        else:
            answer, _ = decode(response_class(key), version, data, pos)
        errors = [*leaf_errors(answer)]
        if len(errors) not in (1, count):
            self.world.violate(f"{self.name}: {api_name(key)} tells of {len(errors)} of {count}")
        return errors

    def _ask_for_the_unknown(self) -> None:
        key = self.rng.choice([*UNKNOWN])
        spec = API_SPECS[key]
        errors = self._ask(key, range(spec.min_version, spec.max_version + 1), NOBODY)
        if errors is not None:
            self.unknown += 1
            self._expect(key, errors, UNKNOWN[key])

    def _ask_for_secrets(self) -> None:
        key = self.rng.choice([*REFUSED])
        code, last = REFUSED[key]
        spec = API_SPECS[key]
        versions = range(spec.min_version, min(last, spec.max_version) + 1)
        errors = self._ask(key, versions, SECRET)
        if errors is not None:
            self.refused += 1
            self._expect(key, errors, frozenset((code,)))

    def _expect(self, key: ApiKey, errors: list[int], allowed: frozenset[int]) -> None:
        if not errors or not allowed.issuperset(errors):
            told = sorted(set(errors))
            self.world.violate(
                f"{self.name}: {api_name(key)} answers {told}, not {sorted(allowed)}"
            )


class StrangerCrew(Crew):
    """One of them, where a seed draws "strangers"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.strangers = setting.hire(Stranger, "stranger", int(self.plan.on["strangers"]))
        self.clients = [*self.strangers]

    def counts(self) -> dict[str, int]:
        return {
            "refused strangers": sum(each.refused for each in self.strangers),
            "unknown things": sum(each.unknown for each in self.strangers),
        }

    def check(self) -> None:
        """Nothing of what they named is there."""
        store = self.world.cluster.metadata
        names = {*store.topics, *store.resource_configs[32]}
        if made := [name for name in names if name.startswith((NOBODY, SECRET))]:
            self.world.violate(f"strangers have made {sorted(made)}")
