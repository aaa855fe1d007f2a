"""How long clients of the simulated cluster are kept waiting, and what for.

- A fetch is answered when there is something to tell or its max_wait is over: not later, and not
  empty before. Records that were visible before are not kept until then.
- A produce is answered within its time-out, with acks=1 at once; who waits at a leader that leads
  no more is told right then.
- What nobody has to wait for is answered at once.
- Who waits to be let into the next generation of a classic group is its member all the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.journal import HighWatermarkMoved
from mockbroker.node.metered_broker import MeteredBroker
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse
from mockbroker_protocol.messages.group_membership import JoinGroupRequest, JoinGroupResponse
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
)
from mockbroker_protocol.messages.metadata import MetadataRequest
from mockbroker_protocol.messages.produce import ProduceRequest, ProduceResponse
from simulation.checkers import TOLERANCE_MS
from simulation.session_handler import UNKNOWN_HIGH_WATERMARK, size_of
from simulation.stage import Observer

if TYPE_CHECKING:
    from mockbroker.cluster.nodes import Node
    from mockbroker.journal import Event
    from mockbroker.replica.partition import Partition
    from simulation.cluster.truth import ReplicaState, Truth
    from simulation.cluster.world import ClusterWorld
    from simulation.stage import Wire

AT_ONCE = (MetadataRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest)
GONE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)
"""What a replica answers that is none any more; its fetches are ended right then."""
Place = tuple[int, str, int]
"""A broker and a partition."""

SHARING = "sharing"
"""How the names of groups that share partitions begin."""


class Wait(NamedTuple):
    """A request reached a broker at `began_ms`, and its answer left at `ended_ms`."""

    node: int
    began_ms: float
    ended_ms: float
    by_timer: bool

    @property
    def took_ms(self) -> float:
        """How long the broker had it."""
        return self.ended_ms - self.began_ms


class Waits(Observer):
    """Watches all wires; `judge` is given each answer that a client took."""

    def __init__(
        self, world: ClusterWorld, truth: Truth, upgraded: frozenset[str] = frozenset()
    ) -> None:
        """`upgraded`: groups that members of KIP-848 may come to."""
        self._world = world
        self._upgraded = upgraded
        self._tolerance_ms = TOLERANCE_MS + world.slack_ms
        self._began: dict[int, float] = {}
        self._ended: dict[int, Wait] = {}
        self._passed: dict[Place, list[tuple[float, int, int]]] = {}
        """When a high watermark moved, from where and to where."""
        self._lost: dict[Place, float] = {}
        """When a broker last ceased to lead a partition."""
        self.judged = 0
        world.observers.append(self)
        world.cluster.journal.listen(self._on_moved, high_watermarks=True)
        truth.on_replica.append(self._on_replica)

    # -- what happens ------------------------------------------------------------------------

    def bytes_arrived(self, wire: Wire, _count: int) -> None:
        self._began[wire.id] = self._world.now_ms
        self._ended.pop(wire.id, None)

    def bytes_emitted(self, wire: Wire, data: bytes) -> None:
        if data and wire.id in self._began and wire.id not in self._ended:
            world = self._world
            began_ms = self._began[wire.id]
            self._ended[wire.id] = Wait(wire.node, began_ms, world.now_ms, world.on_timer)

    def hung_up(self, wire: Wire) -> None:
        self._began.pop(wire.id, None)

    def _on_moved(self, event: Event) -> None:
        if isinstance(event, HighWatermarkMoved):
            place = event.broker_id, event.topic, event.partition
            move = self._world.now_ms, event.before, event.after
            self._passed.setdefault(place, []).append(move)

    def _on_replica(self, at: Node, partition: Partition, before: ReplicaState | None) -> None:
        if before is not None and before[5] and not partition.is_leader:
            self._lost[at.node_id, partition.topic, partition.index] = self._world.now_ms

    # -- what is wrong -----------------------------------------------------------------------

    def judge(self, who: str, wire: Wire, request: object, answer: object) -> None:
        """A client took the answer to a request; one at a time is under way on its wire."""
        wait = self._ended.pop(wire.id, None)
        if wait is None or isinstance(self._world.core(wait.node), MeteredBroker):
            return  # whose memory for requests is bounded may have left it unread for long
        wrong = ""
        self.judged += 1
        if isinstance(answer, FetchResponse):
            assert isinstance(request, FetchRequest)
            wrong = self._wrong_fetch(wait, request, answer)
        elif isinstance(answer, ProduceResponse):
            assert isinstance(request, ProduceRequest)
            wrong = self._wrong_produce(wait, request, answer)
        elif isinstance(answer, JoinGroupResponse):
            assert isinstance(request, JoinGroupRequest)
            wrong = self._wrong_join(wait, request, answer)
        elif isinstance(request, AT_ONCE) and wait.took_ms > self._tolerance_ms:
            wrong = "nothing to wait for"
        if wrong:
            kind = type(answer).__name__
            self._world.violate(
                f"{who}: {kind} of {wait.node} after {wait.took_ms:.3f} ms: {wrong}"
            )

    def _wrong_fetch(self, wait: Wait, request: FetchRequest, answer: FetchResponse) -> str:
        if wait.took_ms > request.max_wait_ms + self._tolerance_ms:
            return f"of at most {request.max_wait_ms}"
        if wait.by_timer and wait.took_ms >= request.max_wait_ms:
            late = self._untold(wait, request)
            if late:
                return late
        if answer.throttle_time_ms or wait.node == CONTROLLER or _waits_for_more(request):
            return ""
        for asked, told in zip(request.topics, answer.responses, strict=True):
            for at, data in zip(asked.partitions, told.partitions, strict=True):
                place = wait.node, asked.topic, at.partition
                at_deadline = wait.by_timer and wait.took_ms >= request.max_wait_ms
                if at_deadline and data.error_code in GONE:
                    return f"it is gone ({data.error_code}), and nobody said so"
                if not size_of(data):
                    nothing = not data.error_code and data.preferred_read_replica < 0
                    early = wait.took_ms < request.max_wait_ms - self._tolerance_ms
                    if nothing and early and data.high_watermark >= at.fetch_offset:
                        return "nothing is told"
                elif at_deadline:
                    seen_ms = self._visible_ms(place, at.fetch_offset, data.high_watermark)
                    if seen_ms < wait.ended_ms - self._tolerance_ms:
                        return f"records were visible at {seen_ms:.3f}"
        return ""

    def _untold(self, wait: Wait, request: FetchRequest) -> str:
        """Where a reader that tells its high watermark was not told ours (KIP-1166)."""
        topics = self._world.cluster.metadata.topics_by_id
        for asked in request.topics:
            known = topics.get(asked.topic_id)
            name = asked.topic or ("" if known is None else known.name)
            for at in asked.partitions:
                if at.high_watermark == UNKNOWN_HIGH_WATERMARK:
                    continue
                passed_ms = wait.ended_ms
                for time_ms, before, after in reversed(
                    self._passed.get((wait.node, name, at.partition), ())
                ):
                    if after <= at.high_watermark:
                        break
                    if before <= at.high_watermark:
                        passed_ms = time_ms
                        break
                if passed_ms < wait.ended_ms - self._tolerance_ms:
                    return f"{name}-{at.partition} passed {at.high_watermark} at {passed_ms:.3f}"
        return ""

    def _wrong_join(self, wait: Wait, request: JoinGroupRequest, answer: JoinGroupResponse) -> str:
        """Its session does not end meanwhile; a static member may be removed by an admin, and who
        comes by the new protocol sends all away that wait. Groups that share may be of both: there
        a member that is gone is told so when that is replicated.
        """
        both = request.group_id in self._upgraded or request.group_id.startswith(SHARING)
        stays = request.group_instance_id is None and not both
        if (
            stays
            and request.member_id
            and answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
            and wait.took_ms > self._tolerance_ms
        ):
            return "it was a member, and is none any more"
        return ""

    def _visible_ms(self, place: Place, offset: int, high_watermark: int) -> float:
        """Since when a record was below the high watermark, as far as it was seen to move."""
        for time_ms, before, after in reversed(self._passed.get(place, ())):
            if before <= offset < after <= high_watermark:
                return time_ms
        return self._world.now_ms

    def _wrong_produce(self, wait: Wait, request: ProduceRequest, answer: ProduceResponse) -> str:
        if request.transactional_id is not None:
            return ""
        limit_ms = request.timeout_ms if request.acks == -1 else 0
        if wait.took_ms > limit_ms + self._tolerance_ms:
            return f"of at most {limit_ms}"
        for topic in answer.responses:
            for data in topic.partition_responses:
                lost_ms = self._lost.get((wait.node, topic.name, data.index), -1.0)
                if (
                    data.error_code == ErrorCode.REQUEST_TIMED_OUT
                    and wait.began_ms < lost_ms < wait.ended_ms - self._tolerance_ms
                ):
                    return f"it leads no more since {lost_ms:.3f}"
        return ""


def _waits_for_more(request: FetchRequest) -> bool:
    """Whether records that are visible may not be what it waits for, or have been told."""
    if request.session_epoch != -1 or request.isolation_level or request.unknown_tags:
        return True
    # Through a filter it waits for records that match.
    return any(one.unknown_tags for topic in request.topics for one in topic.partitions)
