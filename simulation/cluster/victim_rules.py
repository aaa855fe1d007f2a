"""The forms of fault rules that the simulation's victims meet, and what each must do.

A `Form` makes a rule, and `Meeting.wrong` holds what came of a request against it. Conditions are
made together with whether they hold, which Python says.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.headers import decode_response_header
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.plan import decode
from simulation.cluster.filled_requests import leaf_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Rule = dict[str, object]
ERROR: Final = ErrorCode.UNKNOWN_SERVER_ERROR
HELD_MS = 150.0
NAME: Final = "of-victims"

SAME, NOTHING, ENDS, REFUSED, PARTLY, CUT, CHANGED, SHIFTED, THROTTLED = range(9)
"""What comes of a request: the answer that it had before; nothing; an end without one; the error
everywhere, or for one topic alone; a part of the answer, then an end; a byte that is another; the
answer of another number; a throttle time.
"""


class Form(NamedTuple):
    """`late`: what comes, comes so much later; `hits`: how often it fires, None: that depends."""

    rule: Callable[[Random], Rule]
    outcome: int
    api: ApiKey = ApiKey.LIST_OFFSETS
    versions: range = range(4, 8)
    late_ms: float = 0.0
    hits: int | None = 1
    ends: bool = False
    topics: int = 2
    releases_ms: float | None = None

    @property
    def is_timed(self) -> bool:
        """Whether the broker's clock decides when it acts."""
        return bool(self.late_ms) or "after_ms" in self.rule(Random(0))

    @property
    def waits_ms(self) -> float:
        """How long to wait for what comes; where nothing does, not long."""
        return 100.0 if self.outcome == NOTHING else 2_000.0


def _fixed(rule: Mapping[str, object]) -> Callable[[Random], Rule]:
    return lambda _rng: dict(rule)


def _when(condition: str, *, holds: bool) -> Form:
    rule = {"api": "ListOffsets", "when": condition, "error": int(ERROR)}
    return Form(_fixed(rule), REFUSED if holds else SAME, hits=int(holds))


CONDITIONS: Final[Mapping[str, bool]] = {
    "api == 'ListOffsets' and version >= 4 and broker > 0 and connection > 0": True,
    "listener == 'nothing' or client in ('a', 'b')": False,
    f"'{NAME}' in topics and len(topics) == 2": True,
    "any(topic.name == 'x' for topic in body.topics)": False,
    f"all(glob(topic.name, '{NAME}*') for topic in body.topics)": True,
    f"[topic.name for topic in body.topics if topic.name != '{NAME}'][0] == '{NAME}-1'": True,
    "body.topics[9] is None and body.topics[-1] is not None": True,
    "body.topics[0].nothing == 1": False,
    "body.topics['x'] == 1": False,
    "not groups and not transactional_ids and not records": True,
    "(1 if len(topics) > 5 else 2 * 3 - 4 % 3) == 5": True,
    "-len(topics) < 0 <= 1 != 2": True,
    "1 < 'a'": False,
    "1 % 0 == 0": False,
    "client < 5 or client >= 'v'": False,
    "json('{\"a\": [1, 2]}')['a'][1] == 2": True,
    "json('{') is None and json(5) is None": True,
    "glob(5, 'a')": False,
    "len([t.name for t in body.topics for c in t.name if c == 'v']) == 2": True,
    "any(a == b for a in client for b in client for c in client for d in client)": True,
    "all(a != b for a in (1, 2) for b in (3, 4)) and 'x' not in topics": True,
    "len([a for a in client for b in client for c in client for d in client for e in client]) > 0":
        False,
    "b'v' in ('v', 'w') and 'v' == b'v'": True,
    "version.real == 1": False,
    "len(json('[' + '1')) == 0": False,
}  # fmt: skip
"""Whether each holds for what a victim asks; one that cannot be told does not."""

_ERROR: Final = {"api": "ListOffsets", "error": ErrorCode(ERROR).name}
_GROUP: Final = Form(
    _fixed({"api": ["DescribeGroups"], "group": NAME, "error": 14}),
    REFUSED, ApiKey.DESCRIBE_GROUPS, range(6), topics=1,
)  # fmt: skip
_RECORDS: Final = "len(records) == 2 and all(r.value == b'v' and r.key is None for r in records)"

FORMS: Final[tuple[Form, ...]] = (
    Form(_fixed(_ERROR), REFUSED),
    Form(_fixed({**_ERROR, "stage": "after"}), REFUSED),
    Form(_fixed({**_ERROR, "versions": "4-7", "count": 1}), REFUSED),
    Form(_fixed({**_ERROR, "versions": [1, 3]}), SAME, hits=0),
    Form(_fixed({**_ERROR, "nth": 2}), SAME, hits=0),
    Form(_fixed({**_ERROR, "nth": 1}), REFUSED),
    Form(_fixed({**_ERROR, "after_ms": 5_000}), SAME, hits=0),
    Form(_fixed({**_ERROR, "for_ms": 0.001, "after_ms": 1}), SAME, hits=None),
    Form(_fixed({**_ERROR, "listener": "REPLICATION"}), SAME, hits=0),
    Form(_fixed({**_ERROR, "connection": 10**9}), SAME, hits=0),
    Form(_fixed({**_ERROR, "topic": f"{NAME}-?"}), PARTLY),
    Form(_fixed({**_ERROR, "topic": "of-others"}), SAME, hits=0),
    Form(_fixed({"api": "Metadata", "error": int(ERROR)}), REFUSED, ApiKey.METADATA, range(4, 13)),
    Form(_fixed({"throttle_ms": 77}), THROTTLED, ApiKey.METADATA, range(4, 13)),
    Form(_fixed({"api": "ListOffsets", "error": int(ERROR), "partition": 1}), SAME, hits=0),
    Form(
        _fixed({"api": "ListOffsets", "topic": NAME, "partition": 0, "error": -1}),
        PARTLY,
    ),
    Form(_fixed({"api": "list_offsets", "level": "partition", "error": -1}), REFUSED),
    Form(_fixed({"api": 2, "stage": "after", "topic": NAME, "error": -1}), PARTLY),
    _GROUP,
    _GROUP._replace(rule=_fixed({"group": "other", "error": 14}), outcome=SAME, hits=0),
    Form(
        _fixed({"api": "EndTxn", "transactional_id": f"{NAME}*", "error": "PRODUCER_FENCED"}),
        REFUSED,
        ApiKey.END_TXN,
        range(2, 5),
    ),
    Form(
        _fixed({"api": "Produce", "when": _RECORDS, "error": "NOT_ENOUGH_REPLICAS"}),
        REFUSED,
        ApiKey.PRODUCE,
        range(3, 12),
    ),
    Form(_fixed({"delay_ms": HELD_MS}), SAME, late_ms=HELD_MS),
    Form(_fixed({"delay_ms": {"low": 50, "high": 60}}), SAME, late_ms=50.0),
    Form(
        _fixed({"delay_ms": {"mean": 100, "deviation": 0}, "stage": "after"}), SAME, late_ms=100.0
    ),
    Form(_fixed({"park": True}), SAME, late_ms=HELD_MS, releases_ms=HELD_MS),
    Form(_fixed({"drop": True}), NOTHING),
    Form(_fixed({"drop": True, "stage": "after"}), NOTHING),
    Form(_fixed({"disconnect": True, "delay_ms": 20}), ENDS, late_ms=20.0),
    Form(_fixed({"reset": True, "stage": "after"}), ENDS),
    Form(_fixed({"half_close": True}), ENDS),
    Form(_fixed({"half_close": True, "stage": "after"}), SAME, ends=True),
    Form(lambda rng: {"truncate_at": rng.randint(0, 20)}, CUT, ends=True),
    Form(lambda rng: {"corrupt_at": rng.randint(8, 12)}, CHANGED),
    Form(lambda rng: {"corrupt_at": -rng.randint(1, 4)}, CHANGED),
    Form(lambda rng: {"correlation_shift": rng.choice((-9, 1, 2**31 - 1))}, SHIFTED),
    Form(_fixed({"throttle_ms": 77}), THROTTLED),
    Form(_fixed({"twice": True}), SAME),
    Form(_fixed({"observe": True}), SAME),
    *(_when(condition, holds=holds) for condition, holds in CONDITIONS.items()),
)

BAD_RULES: Final[tuple[tuple[str, Rule], ...]] = (
    ("eror", {"eror": 1}),
    ("error", {"api": "Fetch"}),
    ("error", {"api": "Fetch", "error": "NO_SUCH"}),
    ("error", {"error": 0}),
    ("error", {"api": "Metadata", "error": "NOT_ENOUGH_REPLICAS"}),
    ("api", {"api": "Feetch", "drop": True}),
    ("api", {"api": [], "drop": True}),
    ("api", {"api": "Vote", "drop": True}),
    ("versions", {"api": "Metadata", "versions": "x", "drop": True}),
    ("versions", {"api": "Metadata", "versions": [3, 1], "drop": True}),
    ("versions", {"api": "Metadata", "versions": 99, "drop": True}),
    ("versions", {"versions": 1, "drop": True}),
    ("client", {"client": "", "drop": True}),
    ("client", {"client": "\ud800", "drop": True}),
    ("client", {"client": "x", "refuse": True}),
    ("broker", {"broker": 77, "drop": True}),
    ("broker", {"broker": -1, "drop": True}),
    ("topic", {"api": "Heartbeat", "topic": "x", "drop": True}),
    ("group", {"api": "Metadata", "group": "x", "drop": True}),
    ("transactional_id", {"api": "Metadata", "transactional_id": "x", "drop": True}),
    ("partition", {"api": "Metadata", "partition": 1, "drop": True}),
    ("when", {"when": "before", "drop": True}),
    ("when", {"when": "import os", "drop": True}),
    ("when", {"when": "lambda: 1", "drop": True}),
    ("when", {"when": "nobody == 1", "drop": True}),
    ("when", {"when": "open('x')", "drop": True}),
    ("when", {"when": "len(1, 2)", "drop": True}),
    ("when", {"when": "1 / 2", "drop": True}),
    ("when", {"when": "+1", "drop": True}),
    ("when", {"when": "1j", "drop": True}),
    ("when", {"when": "any(a for a, b in topics)", "drop": True}),
    ("when", {"when": "any(a for a in topics for a in topics)", "drop": True}),
    ("when", {"when": "1" * 1_001, "drop": True}),
    ("when", {"when": " + ".join(["1"] * 200), "drop": True}),
    ("when", {"when": 5, "drop": True}),
    ("probability", {"probability": 0, "drop": True}),
    ("nth", {"nth": 0, "drop": True}),
    ("count", {"count": True, "drop": True}),
    ("after_ms", {"after_ms": -1, "drop": True}),
    ("after_ms", {"after_ms": 1e13, "drop": True}),
    ("for_ms", {"for_ms": 0, "drop": True}),
    ("maybe", {"maybe": 1, "drop": True}),
    ("stage", {"stage": "later", "drop": True}),
    ("level", {"level": "top", "drop": True}),
    ("level", {"api": "Produce", "level": "top", "error": 1}),
    ("level", {"api": "Heartbeat", "level": "partition", "error": 1}),
    ("delay_ms", {"delay_ms": "soon"}),
    ("delay_ms", {"delay_ms": {"low": 1}}),
    ("delay_ms", {"delay_ms": {"low": 2, "high": 1}}),
    ("disconnect", {"drop": True, "disconnect": True}),
    ("drop", {"observe": True, "drop": True}),
    ("truncate_at", {"drop": True, "truncate_at": 1}),
    ("twice", {"drop": True, "twice": True}),
    ("correlation_shift", {"correlation_shift": 0}),
    ("bad_crc", {"api": "Produce", "bad_crc": True}),
    ("evict_session", {"evict_session": True}),
    ("versions", {"api": "Fetch", "versions": [3, 6], "evict_session": True}),
    ("drop", {"drop": True, "latency_ms": 5}),
    ("api", {"api": "Fetch", "latency_ms": 5}),
    ("preset", {"preset": "nothing"}),
    ("colour", {"preset": "slow_disk", "colour": 1}),
)
"""By the field that is wrong."""


class Meeting(NamedTuple):
    """A request to a node that met a rule: `wanted` is what was answered to it before."""

    form: Form
    rule: Rule
    version: int
    wanted: bytes
    since_ms: float
    node: int
    leads: tuple[tuple[int, int], ...] = ()
    """Who led what coordinates groups, and in which epochs, as far as the node knew."""

    def wrong(self, data: bytes, *, closed: bool, passed_ms: float, hits: int) -> str | None:
        """What did not come as it must, or None."""
        form = self.form
        if form.hits is not None and hits != form.hits:
            return f"{hits} hits"
        if (data or closed) and passed_ms < form.late_ms - 0.001:
            return f"it came after {passed_ms} ms"
        if form.outcome in (NOTHING, ENDS):
            return f"{len(data)} bytes came" if data else self._ended(closed=closed)
        if form.outcome == CUT:
            at = self.rule["truncate_at"]
            assert isinstance(at, int)
            return self._ended(closed=closed) if data == self.wanted[:at] else "another part came"
        if closed is not form.ends:
            return f"the connection is {'closed' if closed else 'open'}"
        if form.outcome == SAME:
            return None if data == self.wanted else "another answer came"
        if form.outcome == CHANGED:
            pairs = zip(data, self.wanted, strict=False)
            others = [at for at, (came, was) in enumerate(pairs) if came != was]
            at = self.rule["corrupt_at"]
            assert isinstance(at, int)
            if len(data) != len(self.wanted) or others != [at % len(data)]:
                return f"bytes {others} are others"
            return None
        return self._answered(data)

    def _ended(self, *, closed: bool) -> str | None:
        if closed is (self.form.outcome != NOTHING):
            return None
        return f"the connection is {'closed' if closed else 'open'}"

    def _answered(self, data: bytes) -> str | None:
        """What must be of the answer itself."""
        form = self.form
        correlation_id, pos = decode_response_header(data[4:], form.api, self.version)
        shift = self.rule.get("correlation_shift", 0)
        assert isinstance(shift, int)
        if (correlation_id - 7 - shift) % 2**32:
            return f"it is the answer to {correlation_id}"
        if form.outcome == SHIFTED:
            return None if data[8:] == self.wanted[8:] else "another answer came"
        kind: type[object] = response_class(form.api)
        answer, _ = decode(kind, self.version, data[4:], pos)
        if form.outcome == THROTTLED:
            told = getattr(answer, "throttle_time_ms", None)
            return None if told == self.rule["throttle_ms"] else f"it tells to wait {told} ms"
        error = self.rule["error"]
        code = int(error) if isinstance(error, int) else ErrorCode[str(error)].value
        errors = [*leaf_errors(answer)]
        count = errors.count(code)
        if count != (1 if form.outcome == PARTLY else len(errors)) or not errors:
            return f"it tells of {errors}"
        return None
