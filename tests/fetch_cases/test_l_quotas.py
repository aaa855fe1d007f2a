"""Quotas on what a consumer fetches: cases 49 and 155 to 157."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker_protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    OpData,
)
from tests.fetch_cases.asking import NEW_SESSION, SESSIONLESS, Part, request

if TYPE_CHECKING:
    from tests.fetch_cases.asking import Answer, Reader, Session, Topic
    from tests.fetch_cases.target import Target

RATE = 500
ALL = 12
HALF_A_SECOND_MS = 500
A_MOMENT_MS = 1
WINDOWS = 10
"""Eleven samples of a second count as ten seconds at least."""


class Consumer:
    """A reader under a client id with a quota of its own."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.client_id = target.new_name()
        entity = [EntityData("client-id", self.client_id)]
        entry = AlterClientQuotasRequestEntryData(entity, [OpData("consumer_byte_rate", RATE)])
        answer = target.control.call(
            AlterClientQuotasRequest([entry]), 1, AlterClientQuotasResponse
        )
        assert answer.entries[0].error_code == 0, answer
        target.until(self._is_known)
        self.reader: Reader = target.reader()
        # An answer is a little more than its records, so that a first one of all that the cap
        # allows is too much; half a second after an empty one it is not.
        topic = filled(target)
        self.fetch(topic.at(0, ALL), wait=0)
        self.ask(topic.at(0, ALL), wait=HALF_A_SECOND_MS)
        target.parked(self.reader)
        target.pass_time(HALF_A_SECOND_MS)
        self.reader.answer()

    def _is_known(self) -> bool:
        filters = [ComponentData("client-id", 0, self.client_id)]
        answer = self.target.control.call(
            DescribeClientQuotasRequest(filters), 1, DescribeClientQuotasResponse
        )
        return bool(answer.entries)

    def fetch(self, *parts: Part, **options: Any) -> Answer:
        """Fetch and wait for the answer; options as of `ask`."""
        self.ask(*parts, **options)
        return self.reader.answer()

    def ask(
        self,
        *parts: Part,
        version: int = 12,
        session: Session = SESSIONLESS,
        min_bytes: int = 1,
        wait: int = 5000,
    ) -> None:
        """Only send the fetch."""
        asked = request(*parts, version=version, session=session, wait=wait, min_bytes=min_bytes)
        self.reader.send(asked, version, self.client_id)

    def unmuted(self, throttle_ms: int) -> None:
        """Return when its throttle is over; fail when what it asks meanwhile is answered."""
        self.reader.send(MetadataRequest([]), 9, self.client_id)
        self.target.pass_time(throttle_ms - A_MOMENT_MS)
        self.target.parked(self.reader)
        self.target.pass_time(A_MOMENT_MS)
        self.reader.receive(MetadataResponse)


def filled(target: Target) -> Topic:
    return target.shared("quotas", lambda target: target.topic(1, (1000,) * ALL))


@pytest.mark.parametrize("version", [4, 7, 12])
def test_155_to_157_capped_then_empty_then_muted(timed_target: Target, version: int) -> None:
    consumer = Consumer(timed_target)
    part = filled(timed_target).at(0)
    first = consumer.fetch(part, version=version)
    assert first.sizes == [RATE * WINDOWS]  # 155
    assert first.response.throttle_time_ms == 0
    second = consumer.fetch(part, version=version)
    throttle_ms = second.response.throttle_time_ms
    assert throttle_ms > 0  # 156
    assert sum(second.sizes) == 0
    assert second.elapsed_ms < throttle_ms
    consumer.unmuted(throttle_ms)
    if timed_target.is_kafka:
        assert consumer.reader.elapsed_ms > throttle_ms / 2


def test_49_a_throttled_full_request_opens_no_session(timed_target: Target) -> None:
    consumer = Consumer(timed_target)
    part = filled(timed_target).at(0)
    assert consumer.fetch(part).sizes == [RATE * WINDOWS]
    throttled = consumer.fetch(part, session=NEW_SESSION)
    assert throttled.response.throttle_time_ms > 0
    assert throttled.status == (0, 0)
    assert sum(throttled.sizes) == 0


def test_49_a_throttled_incremental_request_keeps_its_session(timed_target: Target) -> None:
    consumer = Consumer(timed_target)
    part = filled(timed_target).at(0)
    opened = consumer.fetch(part, session=NEW_SESSION)
    assert opened.sizes == [RATE * WINDOWS]
    session_id = opened.session_id
    throttled = consumer.fetch(part, session=(session_id, 1))
    assert throttled.response.throttle_time_ms > 0
    assert (throttled.status, throttled.parts) == ((0, session_id), [])
    consumer.unmuted(throttled.response.throttle_time_ms)
    consumed = consumer.fetch(session=(session_id, 1), min_bytes=0)
    assert consumed.error == 71  # INVALID_FETCH_SESSION_EPOCH: epoch 1 was used up
