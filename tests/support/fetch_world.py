"""One node's rooms wired up for tests of fetch and produce, on a clock that the test moves."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import TYPE_CHECKING, Any, cast

from mockbroker.apis import fetch as fetch_api
from mockbroker.apis import produce as produce_api
from mockbroker.apis.context import PARKED, Environment, RequestContext, Services
from mockbroker.clock import Clock, Timer
from mockbroker.config.broker import BrokerConfig
from mockbroker.fetch.manager import FetchManager
from mockbroker.fetch.sessions import Gate
from mockbroker.log.results import AppendOrigin
from mockbroker.metadata.brokers import BrokerInfo, Endpoint
from mockbroker.metadata.changes import (
    BrokerChanged,
    ConfigsChanged,
    LeaderChanged,
    PartitionState,
    TopicCreated,
    TopicDeleted,
)
from mockbroker.metadata.store import RESOURCE_TOPIC, MetadataStore
from mockbroker.replica.manager import ReplicaManager
from mockbroker_protocol.headers import request_header
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.senders import SENDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.replica.partition import Partition
    from mockbroker.security.authorizer import StandardAuthorizer
    from mockbroker_protocol.messages.produce import ProduceRequest

ZERO = bytes(16)
_TOPIC, _READ = 2, 3


def topic_id(name: str) -> bytes:
    """The id that `World.create_topic` gives a topic first."""
    return name.encode().ljust(15, b"\1")[:15] + b"\1"


def batch(value_bytes: int, count: int = 1, timestamp: int = 1_000) -> bytes:
    """One uncompressed batch; with one record of 1, 20, 50, 100, 1000 bytes: 69, 88, 118, 170,
    1070 bytes."""
    return build_batch([Record(i, timestamp, None, b"v" * value_bytes, []) for i in range(count)])


class Later:
    """An answer that may come later."""

    def __init__(self) -> None:
        self.response: object = None
        self.ctx: RequestContext | None = None

    def complete(self, ctx: RequestContext, response: object) -> None:
        assert not ctx.done
        ctx.done = True
        self.response = response

    def complete_by(self, ctx: RequestContext, make: Callable[[], object]) -> None:
        self.complete(ctx, make())

    complete_in_slices = complete

    def disconnect(self) -> None:
        assert self.ctx is not None
        self.ctx.done = True
        assert self.ctx.on_disconnect is not None
        self.ctx.on_disconnect()


class Pending(Later):
    """The answer to a fetch."""

    @property
    def answered(self) -> bool:
        return self.response is not None

    def answer(self) -> FetchResponse:
        assert isinstance(self.response, FetchResponse), "the fetch is parked"
        return self.response


class Produced(Later):
    """The answer to a produce; `sentinel` is what the handler returned."""

    sentinel: object = None


class World:
    """Brokers 1 (this one) and 2 (which only the metadata know)."""

    def __init__(self, config: dict[str, str] | None = None, seed: int = 0) -> None:
        self.clock = Clock(1_700_000_000_000, 0.0)
        self.timer = Timer()
        self.config = BrokerConfig({"node.id": "1", **(config or {})})
        self.metadata = MetadataStore("cluster", self.config)
        for node in (1, 2):
            self.metadata.apply(
                BrokerChanged(BrokerInfo(node, {"PLAINTEXT": Endpoint("h", 9000 + node)}))
            )
        self.replicas = ReplicaManager(1, self.clock, self.timer, self.config, self.metadata)
        self.fetch = FetchManager(
            self.clock, self.config, self.metadata, self.replicas, Random(seed)
        )
        unused = cast("Any", None)
        self.services = Services(
            Environment(
                1, self.config, self.clock, self.timer, self.metadata, unused, Random(seed)
            ),
            replicas=self.replicas,
            fetch=self.fetch,
            groups=unused,
            transactions=unused,
            producer_ids=unused,
            registry=unused,
        )
        self.services.work_in_slices = self._work_in_slices
        self.request_bytes = 0
        """What each request is taken to have."""
        self.slices: deque[tuple[RequestContext, Iterator[object]]] | None = None
        """What is done in slices, if the test does them (`slice`); else all is done at once."""
        self._generations: dict[str, int] = {}

    # -- metadata --------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        leader: int = 1,
        replicas: tuple[int, ...] = (1,),
        isr: tuple[int, ...] | None = None,
        configs: dict[str, str] | None = None,
    ) -> bytes:
        generation = self._generations[name] = self._generations.get(name, 0) + 1
        identity = topic_id(name)[:15] + bytes([generation])
        state = PartitionState(leader, list(replicas), list(replicas if isr is None else isr))
        self.metadata.apply(TopicCreated(name, identity, [state] * partitions, configs or {}))
        return identity

    def delete_topic(self, name: str) -> None:
        self.metadata.apply(TopicDeleted(name, self.metadata.topics[name].id))
        self.replicas.drain()

    def change_leader(
        self,
        name: str,
        index: int,
        leader: int,
        epoch: int,
        replicas: tuple[int, ...] = (1,),
        isr: tuple[int, ...] | None = None,
    ) -> None:
        in_sync = list(replicas if isr is None else isr)
        state = PartitionState(leader, list(replicas), in_sync, epoch)
        self.metadata.apply(LeaderChanged(name, self.metadata.topics[name].id, index, state))
        self.replicas.drain()

    def configure_topic(self, name: str, **configs: str) -> None:
        values = {key.replace("_", "."): value for key, value in configs.items()}
        self.metadata.apply(ConfigsChanged(RESOURCE_TOPIC, name, values))

    def partition(self, name: str, index: int = 0) -> Partition:
        partition = self.replicas.partition(name, index)
        assert partition is not None
        return partition

    # -- time and data ---------------------------------------------------------------------

    def advance(self, ms: float) -> None:
        self.clock.now_ms += ms
        self.timer.advance(self.clock.now_ms)
        self.replicas.drain()

    def append(self, name: str, index: int, *sizes: int) -> None:
        """Append batches of one record with values of these sizes, then end the step."""
        for size in sizes:
            self.append_undrained(name, index, size)
        self.replicas.drain()

    def append_undrained(self, name: str, index: int, size: int) -> None:
        """Append such a batch; what it releases waits for the end of the step."""
        data = batch(size, timestamp=self.clock.wall_ms())
        assert not self.partition(name, index).append_batch(data, AppendOrigin.CLIENT).error

    def append_batch(self, name: str, index: int, data: bytes) -> None:
        """Append this batch as a coordinator may, then end the step."""
        result = self.partition(name, index).append_batch(data, AppendOrigin.COORDINATOR)
        assert not result.error
        self.replicas.drain()

    # -- requests --------------------------------------------------------------------------

    def _work_in_slices(self, ctx: RequestContext, steps: Iterator[object]) -> None:
        if self.slices is None:
            for _ in steps:
                pass
        else:
            self.slices.append((ctx, steps))

    def slice(self) -> bool:
        """Do one slice; whether there was one to do."""
        assert self.slices is not None
        while self.slices:
            ctx, steps = self.slices[0]
            if not ctx.done and next(steps, self) is not self:
                return True
            self.slices.popleft()
        return False

    def context(
        self, version: int, responder: Later, key: int = 1, client_id: str = "test"
    ) -> RequestContext:
        header = request_header(key, version, 1, client_id, 0)
        return RequestContext(responder, header, SENDER, self.clock.now_ms, self.request_bytes)

    def send(self, request: FetchRequest, version: int = 12) -> Pending:
        """Send a fetch; its answer is there at once unless it is parked."""
        pending = Pending()
        ctx = self.context(version, pending)
        pending.ctx = ctx
        response = fetch_api.handle(self.services, ctx, request)
        if isinstance(response, FetchResponse):
            ctx.done = True
            pending.response = response
        self.replicas.drain()
        return pending

    def fetch_now(self, request: FetchRequest, version: int = 12) -> FetchResponse:
        """Send a fetch that is answered at once."""
        return self.send(request, version).answer()

    def produce(self, request: ProduceRequest, version: int, client_id: str = "test") -> Produced:
        """Send a produce; its answer is there at once unless it is parked."""
        produced = Produced()
        ctx = self.context(version, produced, 0, client_id)
        produced.ctx = ctx
        response = produce_api.handle(self.services, ctx, request)
        produced.sentinel = response
        if response is not PARKED:
            ctx.done = True
            produced.response = response
        self.replicas.drain()
        return produced


Part = tuple[str, int, int] | tuple[str, int, int, int]


def ask(
    *parts: Part,
    version: int = 12,
    session: tuple[int, int] = (0, -1),
    forget: tuple[tuple[str, int], ...] = (),
    ids: dict[str, bytes] | None = None,
    wait: int = 0,
    min_bytes: int = 0,
    max_bytes: int = 2**31 - 1,
    isolation: int = 0,
    replica_id: int = -1,
    **values: int,
) -> FetchRequest:
    """A fetch of parts (topic, partition, offset[, partition_max_bytes]); `values` go to each."""
    ids = ids or {}
    topics: list[FetchRequestTopic] = []
    for name, index, offset, *limit in parts:
        request = FetchRequestPartition(
            partition=index,
            fetch_offset=offset,
            partition_max_bytes=limit[0] if limit else 1 << 20,
        )
        for key, value in values.items():
            setattr(request, key, value)
        if topics and topics[-1].topic == name:
            topics[-1].partitions.append(request)
        else:
            identity = ids.get(name, topic_id(name)) if version >= 13 else ZERO
            topics.append(FetchRequestTopic(name, identity, [request]))
    gone = [
        FetchRequestForgottenTopic(
            name, ids.get(name, topic_id(name)) if version >= 13 else ZERO, [index]
        )
        for name, index in forget
    ]
    return FetchRequest(
        replica_id, wait, min_bytes, max_bytes, isolation, session[0], session[1], topics, gone
    )


def reader_gate(authorizer: StandardAuthorizer, reader: str) -> Gate:
    """Of who may read what the ACLs allow, as the API of Fetch makes it."""
    return Gate(
        lambda name: name is None or authorizer.allows(reader, "h", _READ, _TOPIC, name),
        reader,
        authorizer.changes,
        lambda since: authorizer.changed_since(since, reader, "h", _READ, _TOPIC),
    )


def told(response: FetchResponse) -> list[tuple[str, int, int, int]]:
    """(topic, partition, error, bytes of records) of each partition in its order."""
    names = {topic_id(n): n for n in ("t0", "t1", "t2", "t3")}
    return [
        (topic.topic or names.get(topic.topic_id, "?"), p.partition_index, p.error_code, size_of(p))
        for topic in response.responses
        for p in topic.partitions
    ]


def size_of(data: FetchResponsePartition) -> int:
    records = data.records
    assert records is not None
    return sum(map(len, records)) if isinstance(records, list) else len(records)
