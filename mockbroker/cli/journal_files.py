"""What a journal's files say: `mockbroker journal FILE…`, by the filters of a running broker's.

Called by `run`. The lines are those of docs/journal.md; several files, also of several runs, are
one story in the order of the wall time. A timeline tells when each line happened since the first,
and folds what repeats: heartbeats, fetches and the like that changed nothing.
"""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockbroker.cli.actions import event_text
from mockbroker.cli.errors import CommandError
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator

    from mockbroker.cli.actions import Outcome

Line = dict[str, Any]

_REPEATED: Final = ("Fetch", "Heartbeat", "ConsumerGroupHeartbeat", "Metadata", "high_watermark")
_SHOWN_CLIENTS: Final = 3
_ABOUT_GROUP: Final = (
    ("member", "member {}"),
    ("generation", "generation {}"),
    ("answered_generation", "-> {}"),
    ("leader", "leader {}"),
    ("protocol", "{}"),
)


def read(given: Namespace) -> Outcome:
    """The lines of the files that match, as data and as text. Raises CommandError."""
    lines = [line for path in _files(given.file) for line in _lines(path)]
    lines.sort(key=lambda line: line["wall_ms"])  # stable: a run's own order stays
    kinds = set(given.kinds.split(",")) if given.kinds else None
    tests = _tests(given)
    found = [
        line
        for line in lines
        if (kinds is None or line["kind"] in kinds)
        and line["seq"] >= given.since
        and all(test(line) for test in tests)
    ]
    if given.limit:
        found = found[-given.limit :]
    text = timeline(found) if given.timeline else (event_text(one["kind"], one) for one in found)
    return found, "\n".join(text)


def _files(names: Iterable[str]) -> Iterator[Path]:
    """The files named; of a directory, those that a broker wrote there."""
    for name in names:
        path = Path(name)
        yield from sorted(path.glob("journal-*.jsonl")) if path.is_dir() else [path]


def _lines(path: Path) -> Iterator[Line]:
    try:
        with path.open(encoding="utf-8") as stream:
            for number, text in enumerate(stream, start=1):
                try:
                    line = json.loads(text)
                    assert line.keys() >= {"kind", "seq", "wall_ms"}
                except (ValueError, AssertionError, AttributeError):
                    if not text.endswith("\n"):
                        return  # the broker was killed while it wrote its last line
                    raise CommandError(f"{path}: line {number} is no line of a journal") from None
                yield line
    except OSError as error:
        raise CommandError(f"{path}: {(error.strerror or str(error)).lower()}") from None


# -- which lines ------------------------------------------------------------------------------


def _tests(given: Namespace) -> list[Callable[[Line], bool]]:
    """One test for each filter that was given."""
    topic, group, client = given.topic, given.group, given.client
    api, transactional_id, fault = given.api, given.transactional_id, given.fault
    tests: list[Callable[[Line], bool]] = []
    if api is not None:
        tests.append(lambda line: api in (line.get("api"), str(line.get("api_key"))))
    if client is not None:
        tests.append(lambda line: fnmatchcase(line.get("client_id") or "", client))
    if topic is not None:
        tests.append(lambda line: topic == line.get("topic") or topic in (line.get("topics") or ()))
    if group is not None:
        tests.append(lambda line: group == (line.get("group") or {}).get("group"))
    if transactional_id is not None:
        tests.append(
            lambda line: (
                transactional_id
                in (line.get("transactional_id"), (line.get("txn") or {}).get("transactional_id"))
            )
        )
    if given.error is not None:
        tests.append(_error_test(given.error))
    if fault is not None:
        tests.append(
            lambda line: (
                bool(line.get("fault"))
                if fault == "true"
                else fault in (line.get("fault") or "").split(",")
            )
        )
    return tests


def _error_test(wanted: str) -> Callable[[Line], bool]:
    if wanted in ("true", "false"):
        return lambda line: "errors" in line and bool(line["errors"]) is (wanted == "true")
    if wanted.upper() in ErrorCode.__members__:
        code = int(ErrorCode[wanted.upper()])
    elif wanted.removeprefix("-").isdecimal():
        code = int(wanted)
    else:
        raise CommandError(f"--error: {wanted!r}; allowed: true, false, a code or Kafka's name")
    return lambda line: (
        code in (line.get("errors") or ()) or (not code and line.get("errors") == [])
    )


# -- the timeline -----------------------------------------------------------------------------


def timeline(lines: list[Line]) -> Iterator[str]:
    """A line of text for each line, or for each run of those that repeat."""
    if not lines:
        return
    first_ms = lines[0]["wall_ms"]
    for _, run in groupby(enumerate(lines), key=_fold):
        same = [line for _, line in run]
        at = f"{(same[0]['wall_ms'] - first_ms) / 1000:+10.3f} s"
        if len(same) == 1:
            yield f"{at}  {_what(same[0])}"
            continue
        names = list(dict.fromkeys(map(_who, same)))
        shown = ", ".join(names[:_SHOWN_CLIENTS]) + (", …" if names[_SHOWN_CLIENTS:] else "")
        until = (same[-1]["wall_ms"] - first_ms) / 1000
        yield f"{at}  {_name(same[0])} x {len(same)} of {shown} until {until:+.3f} s"


def _fold(numbered: tuple[int, Line]) -> object:
    """Equal for neighbours that say the same: they are of one API, without error or fault."""
    number, line = numbered
    group = line.get("group") or {}
    if _name(line) not in _REPEATED or line.get("errors") or line.get("fault"):
        return number
    return _name(line), group.get("group"), group.get("generation")


def _name(line: Line) -> str:
    return str(line.get("api") or line["kind"])


def _who(line: Line) -> str:
    return f"{line['client_id']}#{line['connection']}" if "client_id" in line else _name(line)


def _what(line: Line) -> str:
    """One line: who asked what about what, and what came of it."""
    if line["kind"] != "request":
        place = ("schema", "run", "seq", "at_ms", "wall_ms", "kind")
        rest = {key: value for key, value in line.items() if key not in place}
        return f"{line['kind']} {json.dumps(rest)}"
    parts = [f"{_who(line)} {line['api']} v{line['version']}"]
    group = line.get("group")
    if group:
        parts.append(f"[{group['group']}]")
        parts += [
            text.format(group[field])
            for field, text in _ABOUT_GROUP
            if group.get(field) is not None
        ]
        offsets = group.get("offsets") or ()
        parts += [f"{one['topic']}-{one['partition']}@{one['offset']}" for one in offsets]
    elif line.get("topics"):
        parts.append(f"[{', '.join(line['topics'])}]")
    outcome = line.get("txn") and line["txn"].get("outcome")
    if outcome:
        parts.append(outcome)
    code = line["error"]
    known = code in ErrorCode.__members__.values()
    error = ErrorCode(code).name if known else str(code)
    parts.append("ok" if not code and line["answered"] else error if code else "no answer")
    if line["parked"]:
        parts.append(f"waited {line['waited_ms']:g} ms ({line['cause']})")
    if line["fault"]:
        parts.append(f"fault {line['fault']}")
    return " ".join(parts)
