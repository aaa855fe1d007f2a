"""Java's producer and consumer: groups of both protocols, and transactions, in programs of ours."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.clients.java import jvm as java
from tests.clients.java.conftest import TOOLS
from tests.clients.open_transaction import Lines, check
from tests.clients.recorded import check_answered_alike

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.java.conftest import Tool
    from tests.clients.java.jvm import Jvm

pytestmark = [pytest.mark.java, pytest.mark.timeout(120)]

PROTOCOLS = ("classic", "consumer")
PARTITIONS = 6
RECORDS = 9_000


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_reads_each_record_once(
    jvm: Jvm, tool: Tool, server_process: str, topic: str, protocol: str
) -> None:
    tool("TopicCommand", "--create", "--topic", topic, "--partitions", str(PARTITIONS))
    sizes = [str(PARTITIONS), str(RECORDS)]
    found = json.loads(jvm.check("GroupReaders", server_process, topic, *sizes, protocol))
    assert RECORDS // 3 <= found["leftWith"] < RECORDS
    assert found["committed"] == {
        str(index): list(range(index, RECORDS, PARTITIONS)) for index in range(PARTITIONS)
    }
    assert found["offsets"] == {str(index): RECORDS // PARTITIONS for index in range(PARTITIONS)}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_transactions_move_each_record_once(
    jvm: Jvm, tool: Tool, server_process: str, topic: str, protocol: str
) -> None:
    source, target, records = f"{topic}-from", f"{topic}-to", 200
    for name in (source, target):
        tool("TopicCommand", "--create", "--topic", name, "--partitions", "1")
    lines = "".join(f"{number}\n" for number in range(records))
    tool("ConsoleProducer", "--topic", source, stdin=lines)
    sizes = [str(records), protocol]
    found = json.loads(jvm.check("Transfer", server_process, source, target, *sizes))
    assert found["committed"] == [*(f"done {number}" for number in range(records)), "kept"]
    assert found["aborted"] >= 20
    # Those that were given up are there too, and the one that was lost.
    assert found["everything"] == records + found["aborted"] + 2
    assert found["offset"] == records
    assert found["fenced"] == "ProducerFencedException"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_extension_changes_nothing(jvm: Jvm, topic: str, tmp_path: Path, protocol: str) -> None:
    sizes = [str(PARTITIONS), str(RECORDS)]

    def work(address: str) -> None:
        line = ["--bootstrap-server", address, "--topic", topic]
        jvm.check(f"{TOOLS}.TopicCommand", "--create", "--partitions", str(PARTITIONS), *line)
        jvm.check("GroupReaders", address, topic, *sizes, protocol)

    check_answered_alike(tmp_path, work)


@pytest.mark.parametrize("commit", [True, False])
def test_no_reader_goes_past_an_open_transaction(
    server_process: str, topic: str, commit: bool
) -> None:
    with ExitStack() as stack:

        def follow() -> Lines:
            process = stack.enter_context(java.start("Follow", server_process, topic))
            stack.callback(process.kill)
            assert process.stdout is not None
            return Lines(process.stdout)

        check(server_process, topic, follow, commit=commit)
