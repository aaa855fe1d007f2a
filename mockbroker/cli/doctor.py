"""`mockbroker doctor`: what is odd about a broker that runs, in plain lines.

It looks at what the admin API tells of state, metrics and journal, and asks each Kafka listener.
Nothing is measured for it. Called by `run`; status 1 when something is odd.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mockbroker.cli.errors import CommandError
from mockbroker.cli.health import ask_listener

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.admin.client import AdminClient

LARGE_BYTES: Final = 512 << 20
"""Logs that hold more are worth a line: they are memory."""
_REQUESTS: Final = 1000
_SHOWN: Final = 5
_SAMPLE: Final = re.compile(r"^(mockbroker_\w+)(?:\{.*\})? (\S+)$", re.MULTILINE)


class Seen(NamedTuple):
    """What the admin API tells."""

    cluster: dict[str, Any]
    connections: list[dict[str, Any]]
    faults: list[dict[str, Any]]
    clock: dict[str, Any]
    events: list[dict[str, Any]]
    requests: list[dict[str, Any]]
    metrics: dict[str, float]

    def kind(self, kind: str) -> list[dict[str, Any]]:
        """The events of one kind, oldest first."""
        return [event for event in self.events if event["kind"] == kind]


def examine(client: AdminClient) -> tuple[dict[str, Any], str]:
    """What is odd, and who is connected: for programs and for people."""
    seen = _look(client)
    odd = [
        {"about": about, "text": text} for about, check in CHECKS.items() for text in check(seen)
    ]
    clients = list(_clients(seen))
    lines = [f"{one['about']}: {one['text']}" for one in odd] or ["nothing is odd"]
    return {"odd": odd, "clients": clients}, "\n".join([*lines, *clients])


def _look(client: AdminClient) -> Seen:
    cursor = client.get("/v1/journal/cursor")["cursor"]
    page = client.get("/v1/journal", since=max(0, cursor - _REQUESTS), limit=_REQUESTS)
    sums: Counter[str] = Counter()
    for name, value in _SAMPLE.findall(client.exchange("GET", "/metrics").decode()):
        sums[name] += float(value)  # type: ignore[assignment]
    return Seen(
        client.get("/v1/cluster"),
        client.get("/v1/connections")["connections"],
        list(client.pages("/v1/faults", "faults")),
        client.get("/v1/clock"),
        client.get("/v1/journal/events")["events"],
        page["requests"],
        dict(sums),
    )


def _loop(seen: Seen) -> Iterator[str]:
    blocked = seen.kind("loop_blocked")
    count = max(len(blocked), int(seen.metrics.get("mockbroker_loop_blocked_total", 0)))
    if count:
        yield f"it kept everybody waiting for more than 250 ms, {_times(count)}"
    for event in sorted(blocked, key=lambda one: -one["blocked_ms"])[:_SHOWN]:
        by = f"{event['api']} of client {event['client_id']!r}, {event['request_bytes']} bytes"
        yield f"{event['blocked_ms']:.0f} ms by {by if event['api'] else 'no request'}"


def _defects(seen: Seen) -> Iterator[str]:
    for event in seen.kind("failed")[-_SHOWN:]:
        yield (
            f"{event['api']} v{event['version']} of client {event['client_id']!r} failed, which is"
            f" a defect of mockbroker: {event['reason']}"
        )


def _connections(seen: Seen) -> Iterator[str]:
    refused = seen.kind("connection_refused")
    for (listener, reason), count in _counted(refused, "listener", "reason"):
        yield f"refused at the listener {listener}, {_times(count)}: {reason}"


def _requests(seen: Seen) -> Iterator[str]:
    for (who, api, reason), count in _counted(seen.kind("refused"), "client_id", "api", "reason"):
        yield f"{api or 'bytes'} of client {who!r} refused, {_times(count)}: {reason}"


def _throttles(seen: Seen) -> Iterator[str]:
    slowed = [one for one in seen.requests if one.get("throttle_ms")]
    for (who, api), count in _counted(slowed, "client_id", "api"):
        most = max(
            one["throttle_ms"] for one in slowed if (one["client_id"], one["api"]) == (who, api)
        )
        yield f"{api} of client {who!r} told to wait, {_times(count)}, {most} ms at most"


def _sessions(seen: Seen) -> Iterator[str]:
    bad = [one for one in seen.kind("session") if one["event"] in ("not_found", "wrong_epoch")]
    for (event, why), count in _counted(bad, "event", "why"):
        yield f"refused with {event}, {_times(count)}: {why}"


def _rules(seen: Seen) -> Iterator[str]:
    for rule in seen.faults:
        if rule["problem"]:
            yield f"rule {rule['id']}: {rule['problem']}"
        if rule["waiting"]:
            yield f"rule {rule['id']} holds {rule['waiting']} request(s) back"
        if not rule["hits"]:
            near = f", though {rule['matched']} request(s) fitted it" if rule["matched"] else ""
            yield f"rule {rule['id']} never fired{near}: {rule['rule']}"


def _clock(seen: Seen) -> Iterator[str]:
    if seen.clock["frozen"]:
        yield "it stands still: no time-out ends until it is advanced"
    elif seen.clock["rate"] != 1:
        yield f"it runs {seen.clock['rate']:g} times as fast"
    for (action,), count in _counted(seen.kind("clock"), "action"):
        if action in ("advance", "jump"):
            moved = sum(one["by_ms"] for one in seen.kind("clock") if one["action"] == action)
            yield f"moved by {action}, {_times(count)}: {moved / 1000:g} s together"


def _brokers(seen: Seen) -> Iterator[str]:
    addresses = seen.cluster["bootstrap_servers"].split(",")
    for broker, address in zip(seen.cluster["brokers"], addresses, strict=False):
        if not broker["running"]:
            yield f"{broker['node_id']} is down"
            continue
        if broker["fenced"]:
            yield f"{broker['node_id']} is fenced: the controller takes it for lost"
        try:
            ask_listener(address)
        except CommandError as error:
            yield f"{broker['node_id']}: {error}"


def _journal(seen: Seen) -> Iterator[str]:
    if seen.cluster["journal_problem"]:
        yield f"its files end: {seen.cluster['journal_problem']}"


def _memory(seen: Seen) -> Iterator[str]:
    held = seen.metrics.get("mockbroker_partition_size_bytes", 0)
    if held > LARGE_BYTES:
        yield f"logs hold {held / (1 << 20):.0f} MiB, all of it in memory"


CHECKS: Final[dict[str, Callable[[Seen], Iterator[str]]]] = {
    "broker": _brokers,
    "defect": _defects,
    "loop": _loop,
    "connections": _connections,
    "requests": _requests,
    "throttles": _throttles,
    "sessions": _sessions,
    "faults": _rules,
    "clock": _clock,
    "journal": _journal,
    "memory": _memory,
}
"""What is looked at, in the order of the lines."""


def _clients(seen: Seen) -> Iterator[str]:
    """Who is connected with which library; followers are none."""
    ours = [one for one in seen.connections if one["listener"] != "REPLICATION"]
    for (software,), count in _counted(ours, "software"):
        ids = sorted({one["client_id"] or "?" for one in ours if one["software"] == software})
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        name = software or "a client that does not tell its library"
        yield f"connected: {name}, {_times(count)} ({', '.join(ids[:_SHOWN])}{more})"


def _counted(lines: list[dict[str, Any]], *fields: str) -> list[tuple[tuple[Any, ...], int]]:
    """How often these fields are so, the most frequent first, a few only."""
    return Counter(tuple(one[field] for field in fields) for one in lines).most_common(_SHOWN)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
