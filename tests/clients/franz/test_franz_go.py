"""franz-go: groups of both protocols, and transactions of its GroupTransactSession."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.clients.filtered_topic import GIVEN, serving_filtered
from tests.clients.login import told
from tests.clients.open_transaction import Lines, check
from tests.clients.recorded import check_answered_alike

if TYPE_CHECKING:
    from tests.clients.secured import Secured

pytestmark = [pytest.mark.go, pytest.mark.timeout(120)]

PROGRAM = Path(__file__).resolve().parents[3] / ".tools" / "go-clients" / "franz"
PROTOCOLS = ("classic", "consumer")
PARTITIONS = 6
RECORDS = 9_000
MOVED = 200


def create(bootstrap: str, partitions: int, *names: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic(name, partitions, 1) for name in names]
    for created in admin.create_topics(topics).values():
        created.result(30)


def group_type(bootstrap: str, group: str) -> str:
    """`classic` or `consumer`."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    listed: Any = admin.list_consumer_groups().result(30)
    [found] = [one for one in listed.valid if one.group_id == group]
    return str(found.type.name).lower()


def run(scenario: str, *args: str) -> Any:
    """What a scenario prints."""
    assert PROGRAM.exists(), "scripts/test go builds it"
    ran = subprocess.run(
        [PROGRAM, scenario, *told("franz-go", *args)],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_reads_each_record_once(server_process: str, topic: str, protocol: str) -> None:
    create(server_process, PARTITIONS, topic)
    found = run("group", server_process, topic, protocol)
    # It would fall back to the classic protocol without a word.
    assert group_type(server_process, f"{topic}-{protocol}") == protocol
    assert RECORDS // 3 <= found["leftWith"] < RECORDS
    assert found["committed"] == {
        str(index): list(range(index, RECORDS, PARTITIONS)) for index in range(PARTITIONS)
    }


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_transactions_move_each_record_once(server_process: str, topic: str, protocol: str) -> None:
    create(server_process, 1, f"{topic}-from", f"{topic}-to")
    found = run("transactions", server_process, topic, protocol)
    assert found["committed"] == [*(f"done {number}" for number in range(MOVED)), "kept"]
    assert found["aborted"] >= 20
    # Those that were given up are there too, and the one that was lost.
    assert found["everything"] == MOVED + found["aborted"] + 2
    assert "INVALID_PRODUCER_EPOCH" in found["fenced"] or "PRODUCER_FENCED" in found["fenced"]


def test_transactions_of_who_is_known(secured: Secured, topic: str, tmp_path: Path) -> None:
    for name in (f"{topic}-from", f"{topic}-to"):
        secured.broker.topic(name).create(1)
    found = run("transactions", f"@{secured.file('franz-go', tmp_path)}", topic, "consumer")
    assert found["committed"] == [*(f"done {number}" for number in range(MOVED)), "kept"]
    secured.check(f"{topic}-to")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_extension_changes_nothing(topic: str, tmp_path: Path, protocol: str) -> None:
    def work(address: str) -> None:
        create(address, PARTITIONS, topic)
        create(address, 1, f"{topic}-from", f"{topic}-to")
        run("group", address, topic, protocol)
        run("transactions", address, topic, protocol)

    check_answered_alike(tmp_path, work)


@pytest.mark.parametrize("commit", [True, False])
def test_no_reader_goes_past_an_open_transaction(
    server_process: str, topic: str, commit: bool
) -> None:
    with ExitStack() as stack:

        def follow() -> Lines:
            process = stack.enter_context(
                subprocess.Popen(
                    [PROGRAM, *told("franz-go", "follow", server_process, topic, "none")],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            return Lines(process.stdout)

        check(server_process, topic, follow, commit=commit)


def test_a_filter_by_client_id(tmp_path: Path) -> None:
    """It passes over batches that were rebuilt or are empty."""
    with serving_filtered(tmp_path) as bootstrap:
        for client_id, given in GIVEN.items():
            assert run("filtered", bootstrap, "t", "-", client_id, str(len(given))) == given
