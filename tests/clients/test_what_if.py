"""What a recording foretells of clients, beside what they do under the other settings."""

from __future__ import annotations

import json
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker import MockBroker
from mockbroker.what_if.broker import SLOTS
from mockbroker.what_if.replay import AS_IT_WAS, CONSUMER, RECORDED, WHAT_IF, replay_figures

if TYPE_CHECKING:
    from pathlib import Path

    from kafka import KafkaConsumer

    Row = dict[str, Any]

pytestmark = [
    pytest.mark.clients,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated"),  # by kafka-python
]

PARTITIONS = 12
RECORDS = 60
TOLD = ("polls", "request_bytes", "response_bytes", "named", "told")


def record(folder: Path, slots: int) -> list[Row]:
    """Consumers read what a producer sends, a record at a time: the lines of the journal."""
    from kafka import KafkaConsumer, KafkaProducer

    started = MockBroker(
        topics={"orders": PARTITIONS},
        journal=folder,
        journal_replay=True,
        config={SLOTS: str(slots)},
    )
    with started as broker:
        consumers = [
            KafkaConsumer(
                "orders",
                bootstrap_servers=broker.bootstrap_servers,
                client_id=f"reader-{number}",
                auto_offset_reset="earliest",
            )
            for number in range(2)
        ]
        read: list[SimpleQueue[int]] = [SimpleQueue() for _ in consumers]
        readers = [Thread(target=_read, args=each) for each in zip(consumers, read, strict=True)]
        for reader in readers:
            reader.start()
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        for number in range(RECORDS):
            producer.send("orders", b"x" * 1000, partition=number % PARTITIONS).get()
            for count in read:
                assert count.get(timeout=60) == number + 1
        for reader in readers:
            reader.join()
        for client in (*consumers, producer):
            client.close()
    paths = sorted(folder.iterdir())
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def _read(consumer: KafkaConsumer, read: SimpleQueue[int]) -> None:
    for count, _ in enumerate(consumer, start=1):
        read.put(count)
        if count == RECORDS:
            return


def totals(rows: list[Row], name: str) -> Row:
    mine = [row for row in rows if row["figures"] == name and row["kind"] == CONSUMER]
    return {figure: sum(row[figure] for row in mine) for figure in (*TOLD, "records_bytes")}


@pytest.mark.parametrize(("was", "then"), [(1000, 0), (0, 1000)])
def test_clients_do_what_was_foretold_of_them(was: int, then: int, tmp_path: Path) -> None:
    rows = replay_figures(1, record(tmp_path / "was", was), {"slots": then})
    real = totals(replay_figures(1, record(tmp_path / "then", then), {"slots": then}), RECORDED)
    recorded, again, foretold = (totals(rows, name) for name in (RECORDED, AS_IT_WAS, WHAT_IF))
    assert again["records_bytes"] == recorded["records_bytes"] == foretold["records_bytes"]
    for name in TOLD:
        assert again[name] == pytest.approx(recorded[name], rel=0.1), name
    # How often a client polls is the machine's, and differs between two real runs as well: each
    # poll costs what was foretold.
    for name in ("request_bytes", "named"):
        each, foretold_each = real[name] / real["polls"], foretold[name] / foretold["polls"]
        assert foretold_each == pytest.approx(each, rel=0.1), name
    was_each = recorded["named"] / recorded["polls"]
    foretold_each = foretold["named"] / foretold["polls"]
    assert max(was_each, foretold_each) > 5 * min(was_each, foretold_each)
