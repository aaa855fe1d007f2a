"""A consumer that names its rack is served by the replica there, whoever leads (KIP-392)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mockbroker.testing.mock_broker import MockBroker
from tests.clients.failover.ledger import DEADLINE_S, GROUP, PARTITIONS, TOPIC, Ledger, whole
from tests.clients.failover.program import Program
from tests.clients.failover.scenarios import SOME, final_logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

RACKS = ("one", "two", "three")
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def check_rack(command: Callable[[str, str], Sequence[str]], folder: Path) -> None:
    """With the program of `command(bootstrap_servers, rack)`; the journal's files are in `folder`.

    Each broker leads one partition. The consumer's rack has a replica of each, and the journal
    says who answered with records: that replica alone, and who else leads only where it is.
    """
    ledger = Ledger()
    node, rack = 2, RACKS[1]
    config = {"replica.selector.class": SELECTOR}
    with MockBroker(
        brokers=3, racks=RACKS, seed=1, auto_create=False, config=config, journal=folder
    ) as broker:
        broker.topic(TOPIC).create(PARTITIONS)
        assert {broker.cluster.leader(TOPIC, index) for index in range(PARTITIONS)} == {1, 2, 3}
        client = Program(command(broker.bootstrap_servers, rack), ledger)
        try:
            client.join(0)
            client.produce()
            for partition in range(PARTITIONS):
                ledger.wait_acknowledged(SOME, partition)
            client.pause()
            logs = final_logs(broker)
            ledger.wait_read(logs)
            ends = {(TOPIC, part): len(log) for part, log in logs.items()}
            broker.group(GROUP).wait_committed(ends, timeout=DEADLINE_S)
            client.leave(0)
            client.wait_left(1)
            ledger.check_read({part: whole(log) for part, log in logs.items()})
        finally:
            client.close()
    fetches = list(fetches_in(folder))
    served = {each["broker"] for each in fetches if each["fetch"]["records_bytes"]}
    assert served == {node}
    # It asked the leaders first, who sent it away.
    assert {each["broker"] for each in fetches} == {1, 2, 3}


def fetches_in(folder: Path) -> Iterator[dict[str, Any]]:
    """The member's fetches that came as far as their session, all of them."""
    for path in sorted(folder.iterdir()):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            assert event["kind"] != "dropped"
            if event.get("api") == "Fetch" and event["client_id"] == "member-0" and event["fetch"]:
                yield event
