"""The blocking consumer: filters by client id, and ranges in metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.coop_client import KeyRange, RefusedError, TopicPartition, UnreachableError
from mockbroker.coop_client.blocking_consumer import BlockingSharedConsumer, text_of
from mockbroker.coop_client.errors import ExtensionMissingError
from mockbroker.coop_client.reading import Record
from mockbroker.coop_client.share import Committed
from tests.support.keyed_log import HIGH, LOW
from tests.support.sharing import sharing_broker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker import MockBroker

T0 = TopicPartition("t", 0)
_MATCHED = "mockbroker:type=CooperativeMetrics,name=filter.matched_records"
LOWS, HIGHS = [*range(0, 30, 2)], [*range(1, 30, 2)]


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with sharing_broker(coop_metadata_carrier=True) as running:
        yield running


class _Told:
    """What confluent-kafka has read: a text, and what lay behind it in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def metadata(self) -> str:
        return self._data.decode()


def test_what_lies_behind_a_text_and_is_no_text_ends_it() -> None:
    assert text_of(_Told(b"ranges=2-3;n=1")) == "ranges=2-3;n=1"
    assert text_of(_Told(b"ranges=2-3;n=1\xa8\x01")) == "ranges=2-3;n=1"


def consumer(broker: MockBroker, *ranges: KeyRange, **more: Any) -> BlockingSharedConsumer:
    return BlockingSharedConsumer(
        broker.bootstrap_servers,
        group_id="g",
        ranges={T0: ranges},
        auto_offset_reset=more.pop("reset", "earliest"),
        **more,
    )


def read(of: BlockingSharedConsumer, count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        for record in of.poll(0.2, count - len(found)):
            of.ack(record)
            found.append(record.offset)
    return found


def test_two_share_a_partition(broker: MockBroker) -> None:
    with consumer(broker, LOW) as one, consumer(broker, HIGH) as other:
        assert read(other, 15) == HIGHS
        assert other.commit() == {T0: Committed(0, tuple((at, at) for at in HIGHS))}
        assert read(one, 15) == LOWS
        assert one.commit() == {T0: Committed(30, ())}
    assert broker.group("g").committed() == {("t", 0): 30}


def test_the_broker_filters_as_long_as_it_reads(broker: MockBroker) -> None:
    def given() -> int:
        return int(broker.metrics()[_MATCHED])

    with consumer(broker, LOW) as one:
        assert read(one, 15) == LOWS
        assert given() == 15
    again = consumer(broker)
    again._client_id = one._client_id
    with again:
        assert len(read(again, 15)) == 15
    assert given() == 15


def test_what_is_committed_is_not_given_again(broker: MockBroker) -> None:
    with consumer(broker) as one:
        kept = one.poll(5, 6)
        for record in kept[2:4]:
            one.ack(record)
    with consumer(broker) as again:
        assert again.committed(T0) == Committed(0, ((2, 3),))
        assert read(again, 4) == [0, 1, 4, 5]


def test_many_ranges_are_committed_in_several_texts(
    broker: MockBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockbroker.coop_client.blocking_consumer._TEXT_BYTES", 20)
    with consumer(broker, HIGH) as one:
        read(one, 15)
        assert one.commit() == {T0: Committed(0, tuple((at, at) for at in HIGHS))}


def test_a_group_begins_at_the_end_if_nobody_said_otherwise(broker: MockBroker) -> None:
    with consumer(broker, reset="latest") as one:
        assert one.committed(T0).stable == 30
    with consumer(broker) as other:
        assert other.committed(T0).stable == 30


def test_what_is_too_old_was_done_before(broker: MockBroker) -> None:
    with consumer(broker) as one, consumer(broker) as other:
        mine = one.poll(5, 6)
        assert read(other, 4) == [0, 1, 2, 3]
        other.commit()
        for record in mine[2:6]:
            one.ack(record)
        assert one.commit() == {T0: Committed(6, ())}


def test_a_broker_without_carriers() -> None:
    with (
        sharing_broker() as running,
        pytest.raises(ExtensionMissingError, match=r"coop\.metadata\.carrier"),
        consumer(running),
    ):
        pass
    with (
        sharing_broker(coop_extension_enable=False) as running,
        pytest.raises((ExtensionMissingError, RefusedError)),
        consumer(running, LOW),
    ):
        pass


def test_a_broker_that_is_not_there() -> None:
    gone = BlockingSharedConsumer("127.0.0.1:1", group_id="g", ranges={T0: [LOW]}, timeout=0.2)
    with pytest.raises(UnreachableError), gone:
        pass


def test_a_transaction_commits_what_was_read(broker: MockBroker) -> None:
    kafka = pytest.importorskip("confluent_kafka")
    producer = kafka.Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "tx"}
    )
    producer.init_transactions(30.0)
    with consumer(broker, LOW) as reading:
        records: list[Record] = []
        while len(records) < 15:
            records += reading.poll(0.2)
        for commit, some in ((False, records[3:9]), (True, records[3:6]), (True, records[:1])):
            producer.begin_transaction()
            producer.produce("t", b"of a transaction", key=b"a")
            reading.send_to_transaction(producer, some)
            (producer.commit_transaction if commit else producer.abort_transaction)(30.0)
        assert reading.committed(T0) == Committed(1, ((6, 6), (8, 8), (10, 10)))
        producer.begin_transaction()
        with pytest.raises(RefusedError):
            reading.send_to_transaction(producer, records[3:5])
        producer.abort_transaction(30.0)
