"""What a test does to a broker without a client, at rest, where a seed draws "views".

Topics and records are prepared, changed and go; groups are given offsets and go; transactional ids
are forgotten, delegation tokens made and ended; rules that never fire are told. Each time what is
told afterwards is what was done, what makes no sense is refused and changes nothing, and the
difference of two snapshots is just what happened between them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from mockbroker.metadata.delegation_tokens import SECRET_KEY
from mockbroker.state import (
    delegation_tokens,
    groups,
    reading,
    snapshot,
    snapshot_compare,
    topics,
    transactions,
    verdict,
    writing,
)
from mockbroker.state.partitions import leading_partition
from simulation.cluster.crews import Crew
from simulation.cluster.prepared_topics import FORMS, prepared, wrong_rows, wrong_tables
from simulation.cluster.spoilt_snapshots import wrong_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mockbroker.cluster.cluster import Cluster
    from mockbroker_protocol.errors import ErrorCode
    from simulation.cluster.crews import CrewSetting
    from simulation.cluster.prepared_topics import Form

T = TypeVar("T")
NAME: Final = "of-a-test"
ACTS: Final = 3
PATIENCE_MS: Final = 5_000.0
CONFIGS: Final[tuple[tuple[Mapping[str, object], Mapping[str, str]], ...]] = (
    ({}, {}),
    ({"retention.ms": 3_600_000}, {"retention.ms": "3600000"}),
    (
        {"cleanup.policy": ["compact", "delete"], "min.compaction.lag.ms": 3_600_000},
        {"cleanup.policy": "compact,delete", "min.compaction.lag.ms": "3600000"},
    ),
    ({"preallocate": True}, {"preallocate": "true"}),
)
"""Configs as a test writes them, and as they are."""


class EditorCrew(Crew):
    """Has no clients: a test asks nobody."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self._rng = setting.stream("editors")
        self._cluster = self.world.cluster
        self.done = 0
        self._acts: tuple[Callable[[], None], ...] = (
            self._prepare,
            self._change_a_topic,
            self._give_offsets,
            self._forget_a_transaction,
            self._make_a_token,
            self._spoil_a_snapshot,
            self._arm_rules_for_nobody,
        )

    def counts(self) -> Mapping[str, int]:
        return {"edits": self.done}

    def check_again(self) -> None:
        if not self.plan.on["views"] or self.world.violations:
            return
        for act in self._rng.sample(self._acts, ACTS):
            act()
            self.done += 1

    def _expect(self, what: str, told: object, wanted: object) -> None:
        if told != wanted:
            self.world.violate(f"a test is told {told} of {what}, not {wanted}")

    def _wait(self, what: str, reached: Callable[[], bool]) -> None:
        if not self.world.run_until(reached, PATIENCE_MS):
            self.world.violate(f"a test waits for {what}")

    def _do(self, act: Callable[[], T]) -> list[T]:
        """Do something in a step; what came of it, nothing if it was refused."""
        done: list[T] = []
        self.world.operate(lambda: done.append(act()))
        return done

    def _refused(self, what: str, act: Callable[[], object], error: type[Exception]) -> None:
        def attempt() -> None:
            try:
                act()
            except error:
                return
            self.world.violate(f"{what} is not refused")

        self.world.operate(attempt)

    # -- topics ------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """A topic with records, each as it was written."""
        rng, cluster = self._rng, self._cluster
        for wrong in (*wrong_tables(rng, 4), *wrong_rows()):
            self.world.violate(wrong)
        forms = rng.sample(FORMS, 8)
        written, wanted = rng.choice(CONFIGS)
        if "cleanup.policy" in wanted:
            forms = [form for form in forms if form.key is not None]
        before = snapshot.take(cluster)
        self._do(lambda: prepared(NAME, 2, forms, written).apply(cluster))
        self._expect("configs", dict(cluster.metadata.topics[NAME].configs), dict(wanted))
        self._expect(
            "what differs", _differences(before, snapshot.take(cluster)), {(NAME, "topic")}
        )
        self._wait("replicas", lambda: all(_is_replicated(cluster, NAME, at) for at in (0, 1)))
        self._find(forms)
        self._do(lambda: writing.delete_records(cluster, NAME))
        self._expect("what is left", reading.TopicReader(NAME).read(cluster), [])
        self._do(lambda: writing.delete_topic(cluster, NAME))
        self._expect("what differs", _differences(before, snapshot.take(cluster)), set())

    def _find(self, forms: list[Form]) -> None:
        """All of them are there, those of a key together."""
        records = reading.TopicReader(NAME).read(self._cluster)
        unmatched = list(records)
        # What may be anywhere comes last.
        for form in sorted(forms, key=lambda one: (one.partition is None, one.timestamp is None)):
            found = next(
                (
                    one
                    for one in unmatched
                    if (one.key, one.value, tuple(one.headers))
                    == (form.key, form.value, form.headers)
                    and form.timestamp in (None, one.timestamp)
                    and form.partition in (None, one.partition)
                ),
                None,
            )
            if found is None:
                self.world.violate(f"{form} is not in {records}")
                return
            unmatched.remove(found)
            for name, value in form.headers:
                self._expect(f"header {name}", found.header(name), value)
        self._expect("other records", unmatched, [])
        of_keys = {(one.key, one.partition) for one in records if one.key is not None}
        self._expect("partitions of keys", len(of_keys), len({key for key, _ in of_keys}))
        self._read_otherwise(records)

    def _read_otherwise(self, records: list[reading.Record]) -> None:
        """The same decoded, filtered, of one partition, and of a replica."""
        cluster = self._cluster
        reader = reading.TopicReader(
            NAME, partition=1, decode=len, decode_key=bytes.hex, where=lambda one: bool(one.value)
        )
        wanted = [
            (one.offset, None if one.key is None else one.key.hex(), len(one.value))
            for one in records
            if one.partition == 1 and one.value
        ]
        told = [(one.offset, one.key, one.value) for one in reader.read(cluster)]
        self._expect("records of one partition", told, wanted)
        for index, state in enumerate(cluster.metadata.topics[NAME].partitions):
            page = reading.read_replica_page(cluster, NAME, index, 0, state.leader, limit=3)
            mine = [one for one in records if one.partition == index]
            self._expect("records of a replica", page.records, mine[:3])
            self._expect("where they go on", page.next_offset is None, len(mine) <= 3)
        self._refused(
            "another isolation", lambda: reading.TopicReader(NAME, isolation="none"), ValueError
        )

    def _change_a_topic(self) -> None:
        """One is made, altered and goes; what cannot be done changes nothing."""
        cluster, error = self._cluster, writing.TopicError
        wrong: tuple[tuple[str, Callable[[], object]], ...] = (
            ("a topic without a name", lambda: writing.create_topic(cluster, "", 1)),
            (
                "a topic of no config",
                lambda: writing.create_topic(cluster, NAME, configs={"x": ""}),
            ),
            ("the end of no topic", lambda: writing.delete_topic(cluster, NAME)),
            ("a change of no topic", lambda: topics.alter(cluster, NAME, 2, {})),
            ("records of no topic", lambda: writing.delete_records(cluster, NAME)),
            ("a record for no topic", lambda: writing.put(cluster, NAME, [writing.NewRecord(b"")])),
        )
        before = snapshot.take(cluster)
        for what, act in wrong:
            self._refused(what, act, error)
        self._expect("what differs", _differences(before, snapshot.take(cluster)), set())
        self._do(lambda: writing.create_topic(cluster, NAME, 1, 1, {"retention.ms": "1000"}))
        self._expect("the topics", NAME in topics.names(cluster, internal=False), True)
        made = snapshot.take(cluster)
        for what, act in (
            ("a topic that is there", lambda: writing.create_topic(cluster, NAME)),
            ("less partitions", lambda: topics.alter(cluster, NAME, 1, {"segment.ms": "9"})),
            ("a config of no sense", lambda: topics.alter(cluster, NAME, 3, {"segment.ms": "x"})),
            (
                "a record for no partition",
                lambda: writing.put(cluster, NAME, [writing.NewRecord(b"", partition=7)]),
            ),
        ):
            self._refused(what, act, error)
        self._refused("what is no bytes", lambda: writing.new_record(7), TypeError)
        self._refused("what is no JSON", lambda: writing.new_record({"a": b""}), TypeError)
        self._expect("what differs", _differences(made, snapshot.take(cluster)), set())
        self._do(lambda: topics.alter(cluster, NAME, 3, {"retention.ms": None, "flush.ms": "5"}))
        told = _differences(made, snapshot.take(cluster))
        wanted = {(NAME, one) for one in ("partitions", "retention.ms", "flush.ms")}
        self._expect("what differs", told, wanted)
        self._put_many()
        self._do(lambda: writing.delete_topic(cluster, NAME))
        self._expect("the topics", NAME in topics.names(cluster, internal=True), False)

    def _put_many(self) -> None:
        """More than a batch, of values as a test gives them: they come in their order."""
        cluster, rng = self._cluster, self._rng
        values = [bytearray(b"x"), "text", {"a": 1}, *(str(n) for n in range(rng.choice((5, 700))))]
        records = writing.new_records(values, key=lambda _: "k", headers=[("h", "1")], timestamp=5)
        self._wait("leaders", lambda: all(leading_partition(cluster, NAME, at) for at in range(3)))
        placed = self._do(lambda: writing.put(cluster, NAME, records))[0]
        self._expect("offsets", [one.offset for one in placed], list(range(len(values))))
        index = placed[0].partition
        self._wait("records", lambda: _end(cluster, NAME, index) == len(values))
        told = [(one.value, one.timestamp) for one in _records(cluster, index)]
        self._expect("records", told, [(one.value, 5) for one in records])

    # -- coordinators --------------------------------------------------------------------------

    def _give_offsets(self) -> None:
        """A group gets offsets from outside, and goes; one with members gets none."""
        cluster, rng = self._cluster, self._rng
        self._do(lambda: groups.ensure_coordinators(cluster))
        self._wait("a coordinator", lambda: groups.owning_shard(cluster, NAME) is not None)
        parts = [(name, at) for name, count in self.plan.topics.items() for at in range(count)]
        offsets = {part: rng.randint(0, 9) for part in parts if rng.random() < 0.7}
        outcome: list[ErrorCode] = []
        self._do(lambda: groups.commit_offsets(cluster, NAME, offsets, outcome))
        self._wait("a commit", lambda: bool(outcome))
        groups.check_commit(NAME, outcome)
        self._expect("offsets", groups.committed_offsets(cluster, NAME), offsets)
        behind = {part: max(0, _end(cluster, *part) - at) for part, at in offsets.items()}
        self._expect("what a group lacks", groups.lag(cluster, NAME), behind)
        self._refused(
            "an offset of no partition",
            lambda: groups.commit_offsets(cluster, NAME, {("nowhere", 0): 1}),
            groups.GroupError,
        )
        for group_id in groups.group_ids(cluster):
            told = groups.describe_group(cluster, group_id)
            if told.members:
                commit = partial(groups.commit_offsets, cluster, group_id, {parts[0]: 1})
                self._refused("an offset of a group with members", commit, groups.GroupError)
            self._expect("leases", groups.expire_leases(cluster, group_id) >= 0, True)
            for sharing in groups.sharing(cluster, group_id).values():
                self._expect("leases that ended", sharing.leases, [])
        self._do(lambda: groups.delete_group(cluster, NAME))
        self._wait("the end of a group", lambda: NAME not in groups.group_ids(cluster))
        self._expect("a group", groups.describe_group(cluster, NAME).state, groups.DEAD)
        self._expect("offsets", groups.committed_offsets(cluster, NAME), {})

    def _forget_a_transaction(self) -> None:
        """Its id is unknown then, whatever was open."""
        cluster = self._cluster
        known = transactions.transactional_ids(cluster)
        self._expect("nobody's id", transactions.transaction(cluster, NAME), None)
        self._expect("nobody", transactions.unknown(NAME).state, transactions.DEAD)
        self._expect("nobody", self._do(lambda: transactions.forget(cluster, NAME)), [False])
        if not known:
            return
        name = self._rng.choice(known)
        before = transactions.transaction(cluster, name)
        assert before is not None
        if before.state not in transactions.why_not_forgotten(cluster, name):
            self.world.violate(f"{before} is not told to be the reason")
        self._expect("an id", self._do(lambda: transactions.forget(cluster, name)), [True])
        self._wait("an abort", lambda: transactions.may_be_forgotten(cluster, name))
        self._do(lambda: transactions.forget(cluster, name))
        self._wait("no id", lambda: transactions.transaction(cluster, name) is None)
        left = set(known) - {name}
        self._expect("other ids", set(transactions.transactional_ids(cluster)), left)

    # -- logins, snapshots, rules --------------------------------------------------------------

    def _make_a_token(self) -> None:
        """Delegation tokens come and go, where brokers have a key for them."""
        cluster = self._cluster
        wanted = delegation_tokens.NewToken("tina", ["User:bob"], 60_000)
        if not cluster.metadata.config.text(SECRET_KEY):
            self._refused("a token", lambda: delegation_tokens.make(cluster, wanted), ValueError)
            return
        before = delegation_tokens.listed(cluster)
        (token,) = self._do(lambda: delegation_tokens.make(cluster, wanted))
        self._expect("whose it is", (token.owner, token.renewers), ("User:tina", ("User:bob",)))
        self._expect("its life", token.max_wall_ms - token.issue_wall_ms, 60_000)
        self._expect("a token", delegation_tokens.find(cluster, token.token_id), token)
        mine = delegation_tokens.listed(cluster, "tina")
        self._expect("tokens", mine, [token._replace(hmac=b"")])
        for wrong in (0, -1):
            make = partial(delegation_tokens.make, cluster, wanted._replace(lifetime_ms=wrong))
            self._refused("such a life", make, ValueError)
        self._refused("no token", lambda: delegation_tokens.expire(cluster, "x", 1), ValueError)
        name = token.token_id
        self._refused(
            "such a time", lambda: delegation_tokens.expire(cluster, name, -1), ValueError
        )
        self._do(lambda: delegation_tokens.expire(cluster, name, 20))
        later = delegation_tokens.find(cluster, name)
        assert later is not None
        self._expect("its end", later.expiry_wall_ms, cluster.clock.wall_ms() + 20)
        self.world.run_for(30)
        self._refused(
            "what has expired", lambda: delegation_tokens.expire(cluster, name, 20), ValueError
        )
        if delegation_tokens.find(cluster, name) is not None:  # no round has taken it yet
            self._do(lambda: delegation_tokens.expire(cluster, name, None))
        self._expect("no token", delegation_tokens.find(cluster, name), None)
        others = set(delegation_tokens.listed(cluster)) - set(before)
        self._expect("tokens of nobody", others, set())

    def _spoil_a_snapshot(self) -> None:
        known = self._cluster.metadata.topics
        name = self._rng.choice(sorted(set(self.plan.topics) & set(known)))
        for wrong in wrong_files(self._cluster, name, self._rng, 12):
            self.world.violate(wrong)

    def _arm_rules_for_nobody(self) -> None:
        """They never fire, and the verdict says so, once, and why."""
        cluster, faults = self._cluster, self._cluster.faults
        rules: list[dict[str, object]] = [
            {"api": "Fetch", "client": "nobody", "drop": True},
            {"api": "Produce", "topic": NAME, "error": 6},
            {"api": "Fetch", "nth": 1_000_000, "error": 6},
        ]
        made: list[str] = []
        for rule in self._rng.sample(rules, 2):
            made += self._do(partial(faults.add, rule))[0]
        told = verdict.verdict(cluster, since=max(0, cluster.journal.cursor() - 30), strict=True)
        unfired = {one.id for one in told.unfired}
        self._expect("rules that never fired", unfired & set(made), set(made))
        if told.is_clean or not all(one.reason for one in told.unfired):
            self.world.violate(f"nothing is told of {made}: {told}")
        again = verdict.verdict(cluster, since=0, strict=True)
        self._expect("what was told", {one.id for one in again.unfired} & set(made), set())
        self.world.operate(lambda: verdict.take_away(cluster, made))
        left = {armed.id for armed in faults.list()}
        self._expect("rules that are left", left & set(made), set())
        merged = verdict.merged([told, again])
        self._expect("what all tell", len(merged.unfired), len(told.unfired) + len(again.unfired))


def _records(cluster: Cluster, index: int) -> list[reading.Record]:
    return reading.TopicReader(NAME, partition=index).read(cluster)


def _end(cluster: Cluster, name: str, index: int) -> int:
    """The high watermark of its leader."""
    partition = leading_partition(cluster, name, index)
    return 0 if partition is None else partition.high_watermark


def _is_replicated(cluster: Cluster, name: str, index: int) -> bool:
    """Whether the high watermark of its leader is where its log ends."""
    partition = leading_partition(cluster, name, index)
    log = None if partition is None else partition.log
    return partition is not None and (log is None or log.high_watermark == log.log_end_offset)


def _differences(before: snapshot.Snapshot, after: snapshot.Snapshot) -> set[tuple[str, str]]:
    """What differs of the topic that comes and goes, or of none; coordinators write on."""
    return {
        (one.topic or "", one.what)
        for one in snapshot_compare.differences(before, after)
        if one.topic in (NAME, None) and one.what != "next_producer_id"
    }
