"""What a request costs in work: Python functions entered and lines run, from read to write.

    scripts/bench/calls

The numbers are the same in each run on any machine; `wire` and `throughput` measure time. A test
bounds them: a feature that adds to the path of each request is seen.
"""

from __future__ import annotations

import argparse
import asyncio
import struct
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mockbroker.network.server import ClusterServer
from mockbroker.network.timekeeper import TimeKeeper
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest
from mockbroker_protocol.messages.group_membership import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.plan import decode, encode
from scripts.bench.core_driver import RECORD, CoreDriver, fetch_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

    from _typeshed import TraceFunction

PARTITIONS: Final = 1000
TURNS: Final = 100
"""Of the loop, in which the longest request is answered."""
_BODY_AT: Final = 4 + 4  # length, correlation id
_SESSION_ID_AT: Final = 4 + 5 + 4 + 2  # length, header, throttle time, error


class Cost(NamedTuple):
    """Of one request."""

    calls: int
    lines: int


class _Socket(asyncio.Transport):
    """Keeps what is written last."""

    written = b""

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        self.written = bytes(data)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass


class _Client:
    """One client of a server whose loop does not run."""

    def __init__(self, server: ClusterServer) -> None:
        self._socket = _Socket()
        self._protocol = server.servers[0].accept("PLAINTEXT")
        self._protocol.connection_made(self._socket)

    def ask(self, frame: bytes) -> bytes:
        """Let a request arrive; its answer, which must come at once."""
        self._send(frame)
        assert self._socket.written, "it was not answered at once"
        return self._socket.written

    async def wait_for(self, frame: bytes) -> bytes:
        """The same of one that is answered in later turns of the loop."""
        self._send(frame)
        for _ in range(TURNS):
            await asyncio.sleep(0)
            if self._socket.written:
                break
        assert self._socket.written, f"it was not answered in {TURNS} turns"
        return self._socket.written

    def _send(self, frame: bytes) -> None:
        self._socket.written = b""
        self._protocol.get_buffer(len(frame))[: len(frame)] = frame
        self._protocol.buffer_updated(len(frame))

    def leave(self) -> None:
        """The connection is gone."""
        self._protocol.connection_lost(None)

    def cost(self, frame: bytes) -> Cost:
        """What that takes."""
        calls = lines = 0

        def trace(_frame: FrameType, event: str, _argument: object) -> TraceFunction:
            nonlocal calls, lines
            calls += event == "call"
            lines += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            self.ask(frame)
        finally:
            sys.settrace(before)
        return Cost(calls, lines)


def measure(config: Mapping[str, str] | None = None) -> dict[str, Cost]:
    """Each kind of request with what it costs, on a broker that has served it before."""
    return asyncio.run(_measure(config))


async def _measure(config: Mapping[str, str] | None) -> dict[str, Cost]:
    driver = CoreDriver(config)
    topic_id = driver.create_topic("t", PARTITIONS)
    filled_id = driver.create_topic("small", 1)
    driver.append("small", 0)
    server = ClusterServer(driver.cluster, TimeKeeper(driver.cluster))
    await server.start("PLAINTEXT", "127.0.0.1", [0], lambda _, __: None)
    client = _Client(server)
    await client.wait_for(_frame(18, 0, ApiVersionsRequest()))
    opening = fetch_frame({topic_id: [(n, 0) for n in range(PARTITIONS)]}, epoch=0)
    opened = await client.wait_for(opening)
    (session_id,) = struct.unpack_from(">i", opened, _SESSION_ID_AT)
    member_id = await _joined(client)
    requests: dict[str, Callable[[int], bytes]] = {
        "ApiVersions": lambda _: _frame(18, 0, ApiVersionsRequest()),
        "Metadata of one topic": lambda _: _frame(
            3, 9, MetadataRequest(topics=[MetadataRequestTopic(name="small")])
        ),
        "Fetch of one partition, empty": lambda _: fetch_frame({topic_id: [(1, 0)]}),
        "Fetch of one partition, one batch": lambda _: fetch_frame({filled_id: [(0, 0)]}),
        "Fetch of a session of 1,000 partitions, empty": lambda epoch: fetch_frame(
            {}, session_id=session_id, epoch=epoch
        ),
        "Produce of one record": lambda _: _produce(),
        "Heartbeat": lambda _: _frame(12, 4, HeartbeatRequest("g", 1, member_id)),
        "OffsetCommit of one partition": lambda n: _offset_commit(member_id, n),
        "OffsetFetch of one partition": lambda _: _offset_fetch(),
    }
    costs = {}
    for name, frame in requests.items():
        for epoch in (1, 2):
            client.ask(frame(epoch))
        costs[name] = client.cost(frame(3))
    client.leave()
    await server.stop()
    return costs


async def _joined(client: _Client) -> str:
    """The only member of a group `g` in its first generation."""
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=60_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", b"")],
    )
    answer = await client.wait_for(_frame(11, 3, join))
    joined, _ = decode(JoinGroupResponse, 3, answer, _BODY_AT)
    given = [SyncGroupRequestAssignment(joined.member_id, b"")]
    sync = SyncGroupRequest("g", 1, joined.member_id, assignments=given)
    await client.wait_for(_frame(14, 4, sync))
    await client.wait_for(_offset_commit(joined.member_id, 0))
    return joined.member_id


def _produce() -> bytes:
    produced = ProduceRequestPartition(index=0, records=RECORD)
    topic = ProduceRequestTopic(name="t", partition_data=[produced])
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])
    return _frame(0, 9, request)


def _offset_commit(member_id: str, offset: int) -> bytes:
    topic = OffsetCommitRequestTopic(
        "small", partitions=[OffsetCommitRequestPartition(0, offset, -1, "")]
    )
    request = OffsetCommitRequest(
        group_id="g", generation_id_or_member_epoch=1, member_id=member_id, topics=[topic]
    )
    return _frame(8, 8, request)


def _offset_fetch() -> bytes:
    topic = OffsetFetchRequestTopics("small", partition_indexes=[0])
    return _frame(9, 8, OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=[topic])]))


def _frame(api_key: int, version: int, request: object) -> bytes:
    header = encode_request_header(api_key, version, 1, "bench")
    body = header + b"".join(map(bytes, encode(request, version)))
    return len(body).to_bytes(4, "big") + body


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None).parse_args()
    print(f"{'':48}{'calls':>8}{'lines':>8}")
    for name, cost in measure().items():
        print(f"{name:48}{cost.calls:8}{cost.lines:8}")


if __name__ == "__main__":
    main()
