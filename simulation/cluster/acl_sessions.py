"""Fetch sessions while ACLs come and go: what a session told is what a full fetch tells.

An ACL checker (`acl_checkers`) keeps a session at each broker as one of those whom the ACLs are
about, and goes on with it now and then; right after its answer it asks for the same partitions
without a session. Whatever the ACLs did in between, both must say the same of each partition, and
refuse exactly the topics that may not be read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.versions import FETCH_TOPIC_IDS
from simulation.cluster import acl_rules as rules

if TYPE_CHECKING:
    from mockbroker.node.broker import Broker

T = TypeVar("T")
VERSIONS: Final = (11, 12, 13, 17)
LOST: Final = (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH)
SESSIONLESS: Final = -1


class Said(NamedTuple):
    """What an answer says of a partition besides its records."""

    error: int
    high_watermark: int
    log_start: int


@dataclass(slots=True)
class CheckedSession:
    """One session, with what it was told of each partition."""

    version: int
    topics: list[FetchRequestTopic]
    names: dict[str | bytes, str]
    id: int = 0
    epoch: int = 0
    said: dict[tuple[str | bytes, int], Said] = field(default_factory=dict)

    def key(self, topic: str, topic_id: bytes) -> str | bytes:
        """How its version names a topic."""
        return topic_id if self.version >= FETCH_TOPIC_IDS else topic


class Asker(rules.Asker, Protocol):
    """An ACL checker, as far as it keeps sessions: by broker, and how often it went on with one."""

    sessions: dict[int, CheckedSession]
    polls: int


def sessions(checker: Asker, broker: Broker, principal: str, rights: rules.ExpectedRights) -> None:
    """What may be read, asked with a session and without one."""
    if broker.services.quotas is not None:
        return  # an answer that is throttled tells nothing
    place = broker.broker_id
    session = checker.sessions.pop(place, None) or _begun(checker, broker)
    if not session.topics:
        return
    answer = _fetch(checker, broker, principal, session, with_it=True)
    if answer is None or answer.error_code in LOST:
        return  # evicted, or the broker started anew
    checker.expect(principal, "a session is refused", answer.error_code, ErrorCode.NONE)
    if session.epoch and answer.session_id != session.id:
        checker.expect(principal, "the session's id", answer.session_id, session.id)
    session.said.update(_said(session, answer))
    full = _fetch(checker, broker, principal, session, with_it=False)
    if full is None:
        return
    whole = _said(session, full)
    checker.expect(principal, f"a session at {place}", session.said, whole)
    for (key, _), said in whole.items():
        name = session.names[key]
        refused = said.error == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if said.error != ErrorCode.UNKNOWN_TOPIC_ID:
            may = rights.allows(rules.READ, rules.TOPIC, name)
            checker.expect(principal, f"to read {name} is refused", refused, not may)
    if answer.session_id:
        session.id, session.epoch = answer.session_id, session.epoch + 1
        checker.sessions[place] = session
        checker.polls += session.epoch > 1


def _begun(checker: Asker, broker: Broker) -> CheckedSession:
    known = broker.services.metadata.topics
    named = [(name, known[name]) for name in checker.topics if name in known]
    version = checker.rng.choice(VERSIONS)
    by_id = version >= FETCH_TOPIC_IDS
    topics = [
        FetchRequestTopic(
            "" if by_id else name,
            topic.id if by_id else bytes(16),
            [
                FetchRequestPartition(index, partition_max_bytes=1)
                for index in range(len(topic.partitions))
            ],
        )
        for name, topic in named
    ]
    return CheckedSession(
        version, topics, {topic.id if by_id else name: name for name, topic in named}
    )


def _fetch(
    checker: Asker, broker: Broker, principal: str, session: CheckedSession, *, with_it: bool
) -> FetchResponse | None:
    goes_on = with_it and session.epoch > 0
    request = FetchRequest(
        max_bytes=1,
        session_id=session.id if with_it else 0,
        session_epoch=session.epoch if with_it else SESSIONLESS,
        topics=[] if goes_on else session.topics,
    )
    return checker.asked_as(broker, principal, request, session.version, FetchResponse)


def _said(session: CheckedSession, answer: FetchResponse) -> dict[tuple[str | bytes, int], Said]:
    return {
        (session.key(topic.topic, topic.topic_id), data.partition_index): Said(
            data.error_code, data.high_watermark, data.log_start_offset
        )
        for topic in answer.responses
        for data in topic.partitions
    }
