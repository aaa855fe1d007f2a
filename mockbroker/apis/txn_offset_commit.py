"""TxnOffsetCommit (28), v0–v6: positions that count when the transaction commits (KIP-98).

v2 CommittedLeaderEpoch, and COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE before · v3
flexible; generation, MemberId, GroupInstanceId (KIP-447) · v4 TRANSACTION_ABORTABLE · v5 the
broker adds the group to the transaction itself (KIP-890) · v6 topic ids, and STALE_MEMBER_EPOCH,
ILLEGAL_GENERATION before.

A request with no partition that exists reaches neither coordinator. Then the transaction must be
open: v4 and below verify it (48, or 120 in v4), later versions add the group's partition of
`__consumer_offsets`. Rules of the group: `coordinator.group.offsets`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.committed_topics import merge_topics, split_topics
from mockbroker.apis.context import MADE_AT_ONCE, PARKED, Verdict, in_slices
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transactions import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from mockbroker_protocol.versions import TXN_OFFSET_COMMIT_LOADING, TXN_OFFSET_COMMIT_TOPIC_IDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.coordinator.group.offsets import CommitWriter
    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.messages.transactions import (
        TxnOffsetCommitRequest,
        TxnOffsetCommitRequestTopic,
    )

# CoordinatorOperationExceptionHelper.handleOperationException, of what a verification answers.
_RESPONSE_ERRORS = {
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
}

# Producers before 2.0 fail on COORDINATOR_LOAD_IN_PROGRESS (KAFKA-7296).
_BEFORE_LOADING: dict[int, ErrorCode] = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE
}
_BEFORE_STALE_EPOCHS: dict[int, ErrorCode] = {
    ErrorCode.STALE_MEMBER_EPOCH: ErrorCode.ILLEGAL_GENERATION
}


def handle(
    services: Services,
    ctx: RequestContext,
    request: TxnOffsetCommitRequest,
    writer: CommitWriter | None = None,
) -> TxnOffsetCommitResponse | Verdict:
    """Answer through `ctx.respond`, when the positions are written as pending."""
    by_id = ctx.api_version >= TXN_OFFSET_COMMIT_TOPIC_IDS
    known, refused = split_topics(services.metadata, request.topics, _answer, by_id=by_id)
    if not known:
        return TxnOffsetCommitResponse(ctx.throttle_time_ms, refused)
    request.topics = known
    commit = _Commit(services, ctx, request, refused, writer)
    if writer is not None or sum(len(one.partitions) for one in known) <= MADE_AT_ONCE:
        commit.start()
    else:
        services.work_in_slices(ctx, commit.steps())
    return PARKED


class _Commit:
    """One commit on its way: verified, then written."""

    __slots__ = ("ctx", "records", "refused", "request", "services", "writer")

    def __init__(
        self,
        services: Services,
        ctx: RequestContext,
        request: TxnOffsetCommitRequest,
        refused: list[TxnOffsetCommitResponseTopic],
        writer: CommitWriter | None,
    ) -> None:
        self.services = services
        self.ctx = ctx
        self.request = request
        self.refused = refused
        self.writer = writer
        self.records: list[CoordinatorRecord] | None = None

    def steps(self) -> Iterator[None]:
        """As `start`, with records that are made in slices."""
        offsets = self.services.groups.service.offsets
        self.records = yield from in_slices(offsets.records_of(self.request))
        self.start()

    def start(self) -> None:
        request, services = self.request, self.services
        if not request.group_id:
            self.fail(ErrorCode.INVALID_GROUP_ID)
            return
        from mockbroker.coordinator.txn.verification import txn_offset_commit_operation

        index = services.groups.service.runtime.partition_for(request.group_id)
        partition = services.replicas.partition(GROUP_METADATA_TOPIC, index)
        if partition is None:
            self.fail(ErrorCode.NOT_COORDINATOR)
            return
        services.transactions.verifier.check(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            [partition],
            txn_offset_commit_operation(self.ctx.api_version),
            self.verified,
            patient=False,
        )

    def verified(self, refused: dict[Partition, ErrorCode]) -> None:
        for error in refused.values():
            self.fail(_RESPONSE_ERRORS.get(error, error))
            return
        offsets = self.services.groups.service.offsets
        offsets.commit_transactional(self.request, self.respond, self.writer, self.records)

    def fail(self, error: ErrorCode) -> None:
        topics = [
            _answer(topic, [one.partition_index for one in topic.partitions], error)
            for topic in self.request.topics
        ]
        self.respond(TxnOffsetCommitResponse(topics=topics))

    def respond(self, response: TxnOffsetCommitResponse) -> None:
        response.throttle_time_ms = self.ctx.throttle_time_ms
        response.topics = merge_topics(self.refused, response.topics)
        if self.ctx.api_version < TXN_OFFSET_COMMIT_LOADING:
            _tell_instead(response, _BEFORE_LOADING)
        if self.ctx.api_version < TXN_OFFSET_COMMIT_TOPIC_IDS:
            _tell_instead(response, _BEFORE_STALE_EPOCHS)
        self.ctx.respond(response)


def _answer(
    topic: TxnOffsetCommitRequestTopic, indexes: list[int], error: ErrorCode
) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        topic.name,
        topic.topic_id,
        [TxnOffsetCommitResponsePartition(index, error) for index in indexes],
    )


def _tell_instead(response: TxnOffsetCommitResponse, instead: dict[int, ErrorCode]) -> None:
    for topic in response.topics:
        for partition in topic.partitions:
            partition.error_code = instead.get(partition.error_code, partition.error_code)


def guard(auth: AuthHelper, request: TxnOffsetCommitRequest) -> object | None:
    """WRITE on the transactional id, READ on the group and on each topic."""
    refused = auth.require_transactional_id(AclOperation.WRITE, request.transactional_id)
    if refused is None:
        refused = auth.require_group(AclOperation.READ, request.group_id)
    return auth.filter_topics(AclOperation.READ) if refused is None else refused
