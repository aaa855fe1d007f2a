"""What each command does: a call of the admin API, and how its answer reads for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from mockbroker.admin.client import segment
from mockbroker.cli.tables import table
from mockbroker.cli.values import arguments as preset_arguments
from mockbroker.cli.values import milliseconds, offsets, pairs, tables
from mockbroker.cluster.actions import ACTIONS

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from mockbroker.admin.client import AdminClient

Outcome = tuple[Any, str]
"""Plain data for programs, text for people."""

# Actions whose answer says nothing but that it is done: request, what programs are told (the word,
# and the argument that it is about), what people are told.
_DONE: Final[dict[str, tuple[str, str, str, str, str]]] = {
    "topics_delete": ("DELETE", "/v1/topics/{name}", "deleted", "name", "deleted {name}"),
    "groups_delete": ("DELETE", "/v1/groups/{group}", "deleted", "group", "deleted {group}"),
    "faults_remove": ("DELETE", "/v1/faults/{id}", "removed", "id", "removed {id}"),
    "faults_clear": ("DELETE", "/v1/faults", "cleared", "", "no rule is armed"),
    "snapshots_restore": (
        "POST", "/v1/snapshots/{name}/restore", "restored", "name", "restored {name}",
    ),
    "snapshots_delete": ("DELETE", "/v1/snapshots/{name}", "deleted", "name", "deleted {name}"),
    "reset": ("POST", "/v1/reset", "reset", "", "the broker is as it was when it started"),
}  # fmt: skip


def act(action: str, client: AdminClient, given: Namespace) -> Outcome:
    """Carry out an action of `parser`: one of these, or the function of its name."""
    if action not in _DONE:
        function: Callable[[AdminClient, Namespace], Outcome] = globals()[action]
        return function(client, given)
    method, path, word, argument, text = _DONE[action]
    subject = getattr(given, argument) if argument else True
    client.send(method, path.format(**{argument: segment(str(subject))}))
    return {word: subject}, text.format(**{argument: subject})


def topics_list(client: AdminClient, given: Namespace) -> Outcome:
    internal = given.internal or None
    found = list(client.pages("/v1/topics", "topics", prefix=given.prefix, internal=internal))
    rows = [(t["name"], t["partitions"], t["replication_factor"], t["records"]) for t in found]
    return found, table(("topic", "partitions", "replicas", "records"), rows)


def topics_show(client: AdminClient, given: Namespace) -> Outcome:
    topic = client.get(f"/v1/topics/{segment(given.name)}")
    rows = [
        (
            p["partition"],
            p["leader"],
            p["leader_epoch"],
            " ".join(map(str, p["replicas"])),
            " ".join(map(str, p["isr"])),
            p["log_start_offset"],
            p["high_watermark"],
            p["log_end_offset"],
            p["size_bytes"],
        )
        for p in topic["partition_list"]
    ]
    columns = ("partition", "leader", "epoch", "replicas", "isr", "start", "hw", "end", "bytes")
    lines = [f"{topic['name']}  id {topic['topic_id']}", table(columns, rows)]
    lines += [f"{key}={value}" for key, value in sorted(topic["configs"].items())]
    return topic, "\n".join(lines)


def topics_create(client: AdminClient, given: Namespace) -> Outcome:
    body = {
        "name": given.name,
        "partitions": given.partitions,
        "replication_factor": given.replication_factor,
        "configs": pairs("--set", given.set),
    }
    topic = client.send("POST", "/v1/topics", body)
    return topic, f"made {topic['name']} with {topic['partitions']} partition(s)"


def topics_records(client: AdminClient, given: Namespace) -> Outcome:
    records: list[Any] = []
    partition, offset = given.partition or 0, given.offset
    while len(records) < given.limit:
        page = client.get(
            f"/v1/topics/{segment(given.name)}/records",
            partition=partition,
            offset=offset,
            only=given.partition is not None,
            isolation="read_committed" if given.committed else None,
            limit=min(1000, given.limit - len(records)),
        )
        records += page["records"]
        partition, offset = page["next_partition"], page["next_offset"]
        if partition is None:
            break
    rows = [(r["partition"], r["offset"], r["timestamp"], r["key"], r["value"]) for r in records]
    return records, table(("partition", "offset", "timestamp", "key", "value"), rows)


def topics_put(client: AdminClient, given: Namespace) -> Outcome:
    record = {
        "value": given.value,
        "key": given.key,
        "partition": given.partition,
        "timestamp": given.timestamp,
        "headers": [
            {"name": name, "value": value}
            for name, value in pairs("--header", given.header).items()
        ],
    }
    path = f"/v1/topics/{segment(given.name)}/records"
    (at,) = client.send("POST", path, {"records": [record]})["positions"]
    return at, f"{given.name}-{at['partition']} offset {at['offset']}"


def topics_wait(client: AdminClient, given: Namespace) -> Outcome:
    timeout_ms = milliseconds("--timeout", given.timeout)
    body = {
        "count": given.count,
        "timeout_ms": int(timeout_ms),
        "isolation": "read_committed" if given.committed else "read_uncommitted",
    }
    path = f"/v1/topics/{segment(given.name)}/wait"
    return client.send("POST", path, body, wait_seconds=timeout_ms / 1000), ""


def groups_list(client: AdminClient, given: Namespace) -> Outcome:
    found = list(client.pages("/v1/groups", "groups", prefix=given.prefix))
    fields = ("group_id", "type", "state", "members", "generation_id", "lag")
    rows = [tuple(group[field] for field in fields) for group in found]
    return found, table(("group", "type", "state", "members", "generation", "lag"), rows)


def groups_show(client: AdminClient, given: Namespace) -> Outcome:
    group = client.get(f"/v1/groups/{segment(given.group)}")
    members = [
        (m["member_id"], m["client_id"], m["client_host"], _assignment(m["assignment"]))
        for m in group["member_list"]
    ]
    at = [(o["topic"], o["partition"], o["offset"], o["lag"]) for o in group["offsets"]]
    counted = "epoch" if group["type"] == "consumer" else "generation"
    lines = [f"{group['group_id']}  {group['state']}  {counted} {group['generation_id']}"]
    if members:
        lines.append(table(("member", "client", "host", "assignment"), members))
    if at:
        lines.append(table(("topic", "partition", "committed", "lag"), at))
    return group, "\n".join(lines)


def _assignment(assignment: dict[str, list[int]]) -> str:
    return " ".join(
        f"{topic}[{','.join(map(str, indexes))}]" for topic, indexes in sorted(assignment.items())
    )


def groups_commit(client: AdminClient, given: Namespace) -> Outcome:
    path = f"/v1/groups/{segment(given.group)}/offsets"
    group = client.send("PUT", path, {"offsets": offsets(given.offset)})
    return group, f"committed {len(given.offset)} offset(s) for {given.group}"


def groups_wait(client: AdminClient, given: Namespace) -> Outcome:
    timeout_ms = milliseconds("--timeout", given.timeout)
    body = {
        "state": given.state,
        "members": given.members,
        "lag_at_most": given.lag_at_most,
        "timeout_ms": int(timeout_ms),
    }
    path = f"/v1/groups/{segment(given.group)}/wait"
    return client.send("POST", path, body, wait_seconds=timeout_ms / 1000), ""


def faults_list(client: AdminClient, _given: Namespace) -> Outcome:
    found = list(client.pages("/v1/faults", "faults"))
    return found, _fault_table(found)


def _fault_table(found: list[Any]) -> str:
    rows = [(f["id"], f["hits"], f["matched"], f["waiting"], json.dumps(f["rule"])) for f in found]
    return table(("id", "hits", "matched", "waiting", "rule"), rows)


def faults_add(client: AdminClient, given: Namespace) -> Outcome:
    armed = client.send("POST", "/v1/faults", {"rules": tables("RULE", given.rule)})
    return armed, _fault_table(armed["faults"])


def faults_preset(client: AdminClient, given: Namespace) -> Outcome:
    rule = {"preset": given.name, **preset_arguments(given.argument)}
    armed = client.send("POST", "/v1/faults", {"rules": [rule]})
    return armed, _fault_table(armed["faults"])


def faults_presets(client: AdminClient, _given: Namespace) -> Outcome:
    found = client.get("/v1/fault-presets")
    return found, table(("preset", "what it does"), sorted(found["presets"].items()))


def faults_release(client: AdminClient, given: Namespace) -> Outcome:
    released = client.send("POST", f"/v1/faults/{segment(given.id)}/release")
    return released, f"{released['released']} request(s) go on"


def faults_wait(client: AdminClient, given: Namespace) -> Outcome:
    timeout_ms = milliseconds("--timeout", given.timeout)
    body = {"hits": given.hits, "timeout_ms": int(timeout_ms)}
    path = f"/v1/faults/{segment(given.id)}/wait"
    return client.send("POST", path, body, wait_seconds=timeout_ms / 1000), ""


def faults_verify(client: AdminClient, given: Namespace) -> Outcome:
    found = client.send("POST", "/v1/verify", {"strict": given.strict or None})
    return found, "" if not found["clean"] else found["text"]


def clock_show(client: AdminClient, _given: Namespace) -> Outcome:
    return _clock(client.get("/v1/clock"))


def _clock(time: dict[str, Any]) -> Outcome:
    from datetime import UTC, datetime

    try:
        wall = datetime.fromtimestamp(time["wall_ms"] / 1000, UTC).isoformat(" ", "milliseconds")
    except (ValueError, OverflowError, OSError):
        wall = f"{time['wall_ms']} ms since 1970"
    state = "frozen" if time["frozen"] else f"rate {time['rate']:g}"
    return time, f"{wall}  {time['now_ms']:.0f} ms since the start  {state}"


def clock_freeze(client: AdminClient, _given: Namespace) -> Outcome:
    return _clock(client.send("POST", "/v1/clock/freeze"))


def clock_unfreeze(client: AdminClient, _given: Namespace) -> Outcome:
    return _clock(client.send("POST", "/v1/clock/unfreeze"))


def clock_advance(client: AdminClient, given: Namespace) -> Outcome:
    body = {"ms": milliseconds("BY", given.by), "wall": not given.keep_wall}
    return _clock(client.send("POST", "/v1/clock/advance", body, wait_seconds=60))


def clock_jump(client: AdminClient, given: Namespace) -> Outcome:
    by_ms = milliseconds("BY", given.by) * (-1 if given.back else 1)
    return _clock(client.send("POST", "/v1/clock/jump", {"ms": by_ms}))


def clock_rate(client: AdminClient, given: Namespace) -> Outcome:
    return _clock(client.send("PUT", "/v1/clock/rate", {"rate": given.rate}))


def cluster_show(client: AdminClient, _given: Namespace) -> Outcome:
    return _cluster(client.get("/v1/cluster"))


def cluster_do(client: AdminClient, given: Namespace) -> Outcome:
    body = {"actions": tables("ACTIONS", given.actions)}
    return _cluster(client.send("POST", "/v1/cluster/actions", body))


def cluster_act(client: AdminClient, given: Namespace) -> Outcome:
    fields = {name: getattr(given, name) for name in ACTIONS[given.verb]}
    action = {name: value for name, value in fields.items() if value is not None}
    body = {"actions": [{"action": given.verb, **action}]}
    return _cluster(client.send("POST", "/v1/cluster/actions", body))


def _cluster(found: dict[str, Any]) -> Outcome:
    rows = [
        (b["node_id"], b["rack"], "up" if b["running"] else "down", b["fenced"], b["connections"])
        for b in found["brokers"]
    ]
    return found, table(("broker", "rack", "state", "fenced", "connections"), rows)


def _filters(given: Namespace) -> dict[str, object]:
    names = ("api", "client", "topic", "group", "transactional_id", "fault")
    found: dict[str, object] = {name: getattr(given, name) for name in names}
    found["error"] = given.error
    return found


def journal_list(client: AdminClient, given: Namespace) -> Outcome:
    page = client.get("/v1/journal", since=given.since, limit=given.limit, **_filters(given))
    return page, "\n".join(event_text("request", one) for one in page["requests"])


def journal_events(client: AdminClient, _given: Namespace) -> Outcome:
    found = client.get("/v1/journal/events")
    return found, "\n".join(event_text(str(one["kind"]), one) for one in found["events"])


def journal_expect(client: AdminClient, given: Namespace) -> Outcome:
    timeout_ms = milliseconds("--timeout", given.timeout)
    body = {key: _plain(value) for key, value in _filters(given).items()}
    body.update(since=given.since, times=given.times, timeout_ms=int(timeout_ms))
    path = "/v1/journal/expect"
    return client.send("POST", path, body, wait_seconds=timeout_ms / 1000), ""


def _plain(value: object) -> object:
    """true, false and numbers as JSON has them."""
    if isinstance(value, str) and (value in ("true", "false") or value.lstrip("-").isdecimal()):
        return json.loads(value)
    return value


def event_text(kind: str, data: dict[str, Any]) -> str:
    """One event in one line for people."""
    if kind != "request":
        rest = {key: value for key, value in data.items() if key not in ("schema", "kind")}
        return f"{kind:18} {json.dumps(rest)}"
    outcome = f"error {data['error']}" if data["error"] else "ok"
    waited = f" waited {data['waited_ms']:g} ms ({data['cause']})" if data["parked"] else ""
    fault = f" fault {data['fault']}" if data["fault"] else ""
    about = f" {','.join(data['topics'])}" if data["topics"] else ""
    return (
        f"{data['completed_ms']:>10.0f} {data['client_id']}#{data['connection']}"
        f" {data['api']} v{data['version']}{about} {outcome}{waited}{fault}"
    )


def snapshots_list(client: AdminClient, _given: Namespace) -> Outcome:
    found = client.get("/v1/snapshots")["snapshots"]
    return found, table(("snapshot", "topics"), [(s["name"], len(s["topics"])) for s in found])


def snapshots_take(client: AdminClient, given: Namespace) -> Outcome:
    taken = client.send("PUT", f"/v1/snapshots/{segment(given.name)}")
    return taken, f"kept {len(taken['topics'])} topic(s) as {taken['name']}"
