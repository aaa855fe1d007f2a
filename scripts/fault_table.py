"""The table of docs/faults-clients.md: what the application of each client is told at each fault.

    python -m scripts.fault_table [--check] [--times N] [FAULT…]

Each case is a process of its own with a broker, one rule and one client, so that a client that
hangs or spins is seen as that. A producer sends one record, a consumer polls on for a while after
whatever it is told. With --times a cell has each answer that was seen, --check compares with the
page instead of writing it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker import MockBroker
    from tests.clients.one_record import Client

    Rule = Mapping[str, object]

PAGE: Final = Path(__file__).parent.parent / "docs" / "faults-clients.md"
CLIENTS: Final = ("kafka-python", "confluent-kafka", "aiokafka")
SEND, READ, GROUP, TRANSACTION = (
    "one record is sent",
    "one record is read",
    "in a group",
    "in a transaction",
)
CASE_SECONDS: Final = 30.0
"""Longer than any client's patience here: what takes longer hangs."""
SPIN: Final = 20
"""So many errors in POLL_SECONDS are a spin."""
POLL_SECONDS: Final = 2.0
"""So long a consumer polls on once it was told something."""
SILENCE_SECONDS: Final = 6.0
"""So long it waits for that: librdkafka looks but once a second for requests past their time-out
of one second, and connects again."""
OR: Final = " — or "
"""Between the answers of a client that is now told the one, now the other."""
_MARK: Final = "| client is told |"


class Case(NamedTuple):
    """A rule and what the client does meanwhile."""

    kind: str
    rules: Sequence[Rule]


def _once(api: str, **act: object) -> Case:
    return Case(SEND if api == "Produce" else READ, [{"api": api, "nth": 1, **act}])


def _always(api: str, **act: object) -> Case:
    return Case(SEND if api == "Produce" else READ, [{"api": api, **act}])


CASES: Final[dict[str, Case]] = {
    "correlation_shift, once": _once("Produce", correlation_shift=1_000),
    "corrupt_at 0 (the length), once": _once("Produce", corrupt_at=0),
    "corrupt_at 4 (the correlation id), once": _once("Produce", corrupt_at=4),
    "twice, once": _once("Produce", twice=True),
    "truncate_at, once": _once("Produce", truncate_at=9),
    "disconnect, once": _once("Produce", disconnect=True),
    "disconnect after, once": _once("Produce", disconnect=True, stage="after"),
    "reset, once": _once("Produce", reset=True),
    "half_close, once": _once("Produce", half_close=True),
    "throttle_ms, once": _once("Produce", throttle_ms=50),
    "drop, once": _once("Produce", drop=True),
    "error NOT_LEADER_OR_FOLLOWER, once": _once("Produce", error=6),
    "error NOT_ENOUGH_REPLICAS_AFTER_APPEND, once": _once("Produce", error=20, stage="after"),
    "error MESSAGE_TOO_LARGE": _always("Produce", error="MESSAGE_TOO_LARGE"),
    "error TOPIC_AUTHORIZATION_FAILED": _always("Produce", error="TOPIC_AUTHORIZATION_FAILED"),
    "error UNKNOWN_SERVER_ERROR": _always("Produce", error="UNKNOWN_SERVER_ERROR"),
    "error NOT_ENOUGH_REPLICAS": _always("Produce", error="NOT_ENOUGH_REPLICAS"),
    "delay_ms beyond the time-out": _always("Produce", delay_ms=30_000),
    "drop": _always("Produce", drop=True),
    "disconnect": _always("Produce", disconnect=True),
    "reset": _always("Produce", reset=True),
    "refuse": Case(SEND, [{"refuse": True}]),
    "latency_ms": Case(SEND, [{"latency_ms": 20}]),
    "slice_bytes": Case(SEND, [{"slice_bytes": 3}]),
    "leader_moved": Case(SEND, [{"preset": "leader_moved"}]),
    "fetch: correlation_shift, once": _once("Fetch", correlation_shift=1_000),
    "fetch: corrupt_at 0 (the length), once": _once("Fetch", corrupt_at=0),
    "fetch: corrupt_at a record, once": _once("Fetch", corrupt_at=-8),
    "fetch: twice, once": _once("Fetch", twice=True),
    "fetch: drop, once": _once("Fetch", drop=True),
    "fetch: disconnect, once": _once("Fetch", disconnect=True),
    "fetch: truncate_at, once": _once("Fetch", truncate_at=9),
    "fetch: poison_batch, once": Case(READ, [{"preset": "poison_batch"}]),
    "fetch: bad_crc": _always("Fetch", bad_crc=True),
    "fetch: session_evicted": Case(READ, [{"preset": "session_evicted"}]),
    "fetch: error OFFSET_OUT_OF_RANGE, once": _once("Fetch", error="OFFSET_OUT_OF_RANGE"),
    "fetch: error UNKNOWN_SERVER_ERROR, once": _once("Fetch", error="UNKNOWN_SERVER_ERROR"),
    "fetch: error UNKNOWN_SERVER_ERROR": _always("Fetch", error="UNKNOWN_SERVER_ERROR"),
    "fetch: error TOPIC_AUTHORIZATION_FAILED": _always("Fetch", error="TOPIC_AUTHORIZATION_FAILED"),
    "fetch: throttle_ms, once": _once("Fetch", throttle_ms=50),
    "group: coordinator_loading": Case(GROUP, [{"preset": "coordinator_loading"}]),
    "group: OffsetCommit COORDINATOR_NOT_AVAILABLE, once": Case(
        GROUP, [{"api": "OffsetCommit", "error": "COORDINATOR_NOT_AVAILABLE", "count": 1}]
    ),
    "group: OffsetCommit UNKNOWN_MEMBER_ID, once": Case(
        GROUP, [{"api": "OffsetCommit", "error": "UNKNOWN_MEMBER_ID", "count": 1}]
    ),
    "group: OffsetCommit disconnect, once": Case(
        GROUP, [{"api": "OffsetCommit", "disconnect": True, "count": 1}]
    ),
    "group: JoinGroup GROUP_MAX_SIZE_REACHED": Case(
        GROUP, [{"api": "JoinGroup", "error": "GROUP_MAX_SIZE_REACHED"}]
    ),
    "group: rolling_restart": Case(GROUP, [{"preset": "rolling_restart", "down_ms": 300}]),
    "transaction: fenced_producer": Case(TRANSACTION, [{"preset": "fenced_producer"}]),
    "transaction: EndTxn CONCURRENT_TRANSACTIONS, twice": Case(
        TRANSACTION, [{"api": "EndTxn", "error": "CONCURRENT_TRANSACTIONS", "count": 2}]
    ),
    "transaction: EndTxn disconnect after, once": Case(
        TRANSACTION, [{"api": "EndTxn", "disconnect": True, "stage": "after", "count": 1}]
    ),
}


# -- one case, in a process of its own -----------------------------------------------------------


def run_case(name: str, client_name: str) -> str:
    """What the client is told, in words; "no hit" when the rule never fired."""
    from mockbroker import MockBroker
    from tests.clients.one_record import CLIENTS as PORTS
    from tests.clients.one_record import TOPIC, VALUE

    case, client = CASES[name], PORTS[client_name]
    rules = [{**rule, "maybe": True} if "preset" not in rule else rule for rule in case.rules]
    broker = MockBroker(topics=[TOPIC]).start()
    try:
        if case.kind == READ:
            broker.topic(TOPIC).put(VALUE)
            broker.faults.add(rules)
            said = _read_on(broker.bootstrap_servers, client)
        elif case.kind == GROUP:
            said = _grouped(broker, client, rules)
        elif case.kind == TRANSACTION:
            error = client.send_in_transaction(
                broker.bootstrap_servers, lambda: broker.faults.add(rules)
            )
            records = broker.topic(TOPIC).records(isolation="read_committed")
            said = _sent(error, len(records))
        else:
            broker.faults.add(rules)
            error = client.send(broker.bootstrap_servers)
            said = _sent(error, len(broker.topic(TOPIC).records()))
        hits = sum(status.hits for status in broker.faults.list())
    finally:
        broker.stop()
    return said if hits else f"{said}; the fault is not met"


def _read_on(bootstrap: str, client: Client) -> str:
    """Poll until POLL_SECONDS after the first that comes, SILENCE_SECONDS if nothing does."""
    events: list[str] = []
    deadline = time.monotonic() + SILENCE_SECONDS

    def told(event: str) -> None:
        nonlocal deadline
        if event not in events:
            print(event, file=sys.stderr, flush=True)  # in case that it never returns
        if not events:
            deadline = time.monotonic() + POLL_SECONDS
        events.append(event)

    client.poll_on(bootstrap, lambda: time.monotonic() < deadline, told)
    return _polled(events)


def _grouped(broker: MockBroker, client: Client, rules: Sequence[Rule]) -> str:
    from tests.clients.one_record import GROUP as GROUP_ID
    from tests.clients.one_record import TOPIC, VALUE

    topic = broker.topic(TOPIC)
    topic.put(VALUE)
    early = any(rule.get("api") == "JoinGroup" or "loading" in str(rule) for rule in rules)
    if early:
        broker.faults.add(rules)

    def between() -> None:
        if not topic.end_offsets()[0] > 1:
            if not early:
                broker.faults.add(rules)
            topic.put(b"after")

    found = client.read_in_group(broker.bootstrap_servers, between)
    committed = broker.group(GROUP_ID).committed().get((TOPIC, 0), 0)
    if found.error is not None:
        return f"{found.error}, {committed} of 2 committed"
    return "nothing" if committed == len(found.values) == 2 else f"{len(found.values)} of 2 read"


def _sent(error: str | None, stored: int) -> str:
    if error is None:
        return "nothing" if stored == 1 else f"nothing, {stored} times in the log"
    return f"{error}, though it is in the log" if stored else error


def _polled(events: Sequence[str]) -> str:
    """What a consumer was handed while it polled on: errors, and when the record came."""
    errors = [event for event in events if event != "value"]
    values = len(events) - len(errors)
    if not errors:
        return "nothing" if values == 1 else f"{values} records" if values else "nothing comes"
    counts = Counter(errors)
    told = ", ".join(
        name if count < SPIN else f"{name} in each poll, without a pause"
        for name, count in counts.items()
    )
    return f"{told}, then the record" if values else f"{told}; the record never comes"


# -- the page ------------------------------------------------------------------------------------


def ask(name: str, client: str) -> str:
    """Run one case, and say so of a client that never comes back."""
    command = [sys.executable, "-W", "ignore", "-m", "scripts.fault_table", "--one", name, client]
    with subprocess.Popen(
        command,
        cwd=PAGE.parent.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            out, errors = child.communicate(timeout=CASE_SECONDS)
        except subprocess.TimeoutExpired:
            pace = "spins" if is_busy(child.pid) else "waits"
            child.kill()
            _, errors = child.communicate()
            told = [line for line in errors.splitlines() if line.endswith(("Error", "Exception"))]
            return f"{', '.join(told)}, then it {pace} for ever" if told else f"it {pace} for ever"
    lines = out.splitlines()
    return str(json.loads(lines[-1])) if lines else f"ends with {errors.splitlines()[-1:]}"


def is_busy(pid: int) -> bool:
    """Whether a process wants a CPU all the time, whoever else has it (state R in proc(5))."""
    states = []
    for _ in range(20):
        states.append(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0])
        time.sleep(0.05)
    return states.count("R") > len(states) / 2


def known() -> dict[str, list[str]]:
    """The rows of the page, by fault."""
    lines = PAGE.read_text("utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return {name: cells for name, *cells in rows if name in CASES}


def answers_of(cell: str) -> set[str]:
    """What a cell says that the client is told."""
    return set(cell.split(OR))


def versions() -> str:
    return ", ".join(f"{name} {metadata.version(name)}" for name in CLIENTS)


def row(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def render(answers: Mapping[str, Sequence[str]]) -> str:
    """The page, with the tables anew under what people wrote."""
    prose, _, _ = PAGE.read_text("utf-8").partition(_MARK)
    parts = [f"{prose}{_MARK}\n|---|\n| {versions()} |\n"]
    for kind in (SEND, READ, GROUP, TRANSACTION):
        rows = [row(name, answers[name]) for name, case in CASES.items() if case.kind == kind]
        head = f"| fault, while {kind} | {' | '.join(CLIENTS)} |\n|---|---|---|---|"
        parts.append("\n".join([f"\n{head}", *rows, ""]))
    return "".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description="What clients are told at each fault.")
    parser.add_argument("--check", action="store_true", help="compare with the page")
    parser.add_argument("--times", type=int, default=1, help="try each case so often")
    parser.add_argument("--one", nargs=2, metavar=("FAULT", "CLIENT"), help="run one case")
    parser.add_argument("fault", nargs="*", help="only these, the other rows stay")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(run_case(*given.one)), flush=True)
        import os

        os._exit(0)  # whatever threads a client has left
    answers = known()
    wrong = 0
    for name in given.fault or CASES:
        seen = [{ask(name, client) for _ in range(given.times)} for client in CLIENTS]
        page = [answers_of(cell) for cell in answers.get(name, [""] * len(CLIENTS))]
        answers[name] = [OR.join(sorted(each)) for each in seen]
        print(row(name, answers[name]), flush=True)
        if given.check and not all(map(set.issubset, seen, page)):
            wrong += 1
            print("  ^ the page says otherwise", flush=True)
    if not given.check:
        PAGE.write_text(render(answers), "utf-8")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
