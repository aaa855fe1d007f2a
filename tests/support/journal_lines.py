"""Journal lines by construction: what a test says happened, in the form of docs/journal.md.

`Journal` numbers the lines of one run; times are in ms on the broker's clock.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

STARTED_WALL_MS = 1_700_000_000_000
API_KEYS = {
    "Produce": 0, "Fetch": 1, "Metadata": 3, "OffsetCommit": 8, "FindCoordinator": 10,
    "JoinGroup": 11, "SyncGroup": 14, "InitProducerId": 22, "AddPartitionsToTxn": 24, "EndTxn": 26,
    "ConsumerGroupHeartbeat": 68,
}  # fmt: skip

Line = dict[str, Any]


class Journal:
    """The lines of one run, in order."""

    def __init__(
        self, run: str = "00000000000000aa", started_wall_ms: int = STARTED_WALL_MS
    ) -> None:
        self.run = run
        self.started_wall_ms = started_wall_ms
        self.lines: list[Line] = []
        self._seq = -1
        self.add(
            "run", 0.0, mockbroker="0.1.0", cluster_id="c", nodes=[1], seed="7",
            started_wall_ms=started_wall_ms, file=0, settings={},
        )  # fmt: skip

    def add(self, kind: str, at_ms: float, **fields: object) -> int:
        """One line; its number."""
        self._seq += 1
        place = {"run": self.run, "seq": self._seq, "at_ms": at_ms}
        wall = {"wall_ms": self.started_wall_ms + int(at_ms)}
        self.lines.append({"schema": 1, "kind": kind, **place, **wall, **fields})
        return self._seq

    def request(self, api: str, arrived_ms: float, waited_ms: float = 0.0, **fields: object) -> int:
        """A request of client `c` on connection 1 that was answered without error."""
        line: Line = {
            "api": api, "api_key": API_KEYS[api], "version": 1, "correlation_id": 1,
            "client_id": "c", "connection": 1, "broker": 1, "listener": "PLAINTEXT",
            "principal": "User:ANONYMOUS", "request_bytes": 100, "response_bytes": 50,
            "arrived_ms": arrived_ms, "parked_ms": arrived_ms if waited_ms else None,
            "completed_ms": arrived_ms + waited_ms, "waited_ms": waited_ms,
            "parked": bool(waited_ms), "cause": "immediate", "answered": True, "throttle_ms": 0,
            "error": 0, "errors": [], "fault": None, "topics": ["orders"],
        }  # fmt: skip
        error = fields.get("error")
        line.update(errors=[error] if error else [], **fields)
        return self.add("request", arrived_ms + waited_ms, **line)

    def fetch(
        self,
        arrived_ms: float,
        waited_ms: float = 0.0,
        *,
        partitions: tuple[Line, ...] = (),
        fetch: Line | None = None,
        **fields: object,
    ) -> int:
        """A Fetch; `fetch` overrides what an incremental poll of session 7 would have."""
        given = [partition(**{"position": n, **part}) for n, part in enumerate(partitions)]
        body: Line = {
            "class": "INCREMENTAL", "session_id": 7, "session_epoch": 1, "answered_session_id": 7,
            "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1000, "isolation_level": 0,
            "replica_id": -1, "partitions_requested": len(given), "partitions_forgotten": 0,
            "partitions_answered": len(given), "records_bytes": sum(p["bytes"] for p in given),
            "request_bytes_saved": 0, "response_bytes_saved": 0, "first_batch_overrun_bytes": 0,
            "high_watermarks_known": 0, "high_watermarks_told": len(given), "partitions": given,
            "partitions_left_out": 0, **(fetch or {}),
        }  # fmt: skip
        return self.request("Fetch", arrived_ms, waited_ms, fetch=body, **fields)

    def produce(self, arrived_ms: float, base_sequence: int, records: int, **part: object) -> int:
        """A Produce of one batch to orders-0 by producer 1000."""
        error = part.get("error", 0)
        listed = {
            "topic": "orders", "topic_id": None, "partition": 0, "bytes": 10 * records,
            "records": records, "producer_id": 1000, "producer_epoch": 0,
            "base_sequence": base_sequence, "transactional": False, "error": 0, "offset": 0, **part,
        }  # fmt: skip
        body = {
            "transactional_id": None, "acks": -1, "timeout_ms": 1000, "records": records,
            "partitions_requested": 1, "partitions": [listed], "partitions_left_out": 0,
        }  # fmt: skip
        return self.request("Produce", arrived_ms, produce=body, error=error, client_id="p")

    def session(self, at_ms: float, event: str, session_id: int = 7, **fields: object) -> int:
        return self.add(
            "session", at_ms, broker=1, event=event, session_id=session_id, partitions=1, **fields
        )

    def group(self, api: str, arrived_ms: float, waited_ms: float = 0.0, **fields: object) -> int:
        """A request of member m of group g."""
        body: Line = {
            "group": "g", "member": "m", "instance": None, "generation": None,
            "answered_generation": None, "leader": None, "members": 0, "protocol": None,
            "error": fields.get("error", 0), **{k: v for k, v in fields.items() if k != "error"},
        }  # fmt: skip
        return self.request(
            api, arrived_ms, waited_ms, group=body, topics=[], error=fields.get("error", 0)
        )

    def txn(self, api: str, arrived_ms: float, transactional_id: str, **fields: object) -> int:
        error = fields.get("error", 0)
        body = {"transactional_id": transactional_id, "outcome": None, **fields}
        return self.request(api, arrived_ms, txn=body, topics=[], error=error)

    def high_watermark(self, at_ms: float, to: int, topic: str = "orders") -> int:
        return self.add(
            "high_watermark", at_ms, broker=1, topic=topic, partition=0,
            **{"from": to - 1, "to": to}, log_end_offset=to,
        )  # fmt: skip

    def lose(self, lines: int, at_ms: float) -> int:
        """Numbers that no line has, and the line that says so."""
        self._seq += lines - 1
        return self.add("dropped", at_ms, lines=lines)

    def text(self) -> str:
        return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self.lines)

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"journal-{self.run}-000000.jsonl"
        file.write_text(self.text())
        return file


def partition(**fields: object) -> Line:
    """orders-0 in a fetch and its answer; nothing in it."""
    return {
        "topic": "orders", "topic_id": None, "partition": 0, "position": 0, "fetch_offset": 0,
        "max_bytes": 1000, "high_watermark_known": None, "bytes": 0, "error": 0,
        "high_watermark": 0, "last_stable_offset": 0, "log_start_offset": 0, **fields,
    }  # fmt: skip
