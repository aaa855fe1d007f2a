"""What the commands do and print."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.cli import actions, parser
from mockbroker.cli.parser import add_commands
from mockbroker.cluster.actions import ACTIONS
from tests.mockbroker.cli.conftest import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_topics_are_made_filled_read_and_deleted(shell: Shell) -> None:
    made = shell.data("topics", "create", "t", "--partitions", "3", "--set", "retention.ms=1000")
    assert (made["partitions"], made["configs"]) == (3, {"retention.ms": "1000"})
    assert shell("topics", "put", "t", "paid", "--partition", "2", "--header", "a=b")[1] == (
        "t-2 offset 0\n"
    )
    (record,) = shell.data("topics", "records", "t")
    assert (record["partition"], record["value"]) == (2, "paid")
    assert record["headers"] == [{"name": "a", "value": "b", "value_encoding": "utf8"}]
    table = shell("topics", "list")[1].splitlines()
    assert table == [
        "TOPIC   PARTITIONS  REPLICAS  RECORDS",
        "orders           2         1        0",
        "t                3         1        1",
    ]
    assert "retention.ms=1000" in shell("topics", "show", "t")[1]
    assert shell("topics", "wait", "t", "--count", "1")[0] == 0
    assert shell("topics", "delete", "t")[1] == "deleted t\n"


def test_groups_commit_and_are_shown(shell: Shell) -> None:
    shell("topics", "put", "orders", "a", "--partition", "1")
    assert shell("groups", "commit", "g", "orders:1:0")[0] == 0
    assert shell("groups", "list")[1].splitlines()[1].split() == [
        "g",
        "classic",
        "Empty",
        "0",
        "0",
        "1",
    ]
    lines = shell("groups", "show", "g")[1].splitlines()
    assert lines[-1].split() == ["orders", "1", "0", "1"]
    assert shell("groups", "wait", "g", "--state", "Empty", "--lag-at-most", "1")[0] == 0
    assert shell("groups", "delete", "g")[0] == 0


def test_a_wait_in_vain_is_status_1_with_the_reason(shell: Shell) -> None:
    status, _, err = shell("topics", "wait", "orders", "--count", "9", "--timeout", "1ms")
    assert (status, err) == (1, "mockbroker: topic orders holds 0 of 9 records\n")
    status, _, err = shell("journal", "expect", "--api", "Heartbeat", "--timeout", "1ms")
    assert status == 1
    assert "api='Heartbeat'" in err


def test_faults_are_armed_seen_and_disarmed(shell: Shell) -> None:
    armed = shell.data("faults", "add", '{"api": "Fetch", "park": true}')["faults"]
    assert armed[0]["rule"] == {"api": "Fetch", "park": True}
    assert len(shell.data("faults", "preset", "leader_moved", "topic=orders")["faults"]) == 2
    assert len(shell.data("faults", "list")) == 3
    assert shell("faults", "release", armed[0]["id"])[1] == "0 request(s) go on\n"
    assert shell("faults", "remove", armed[0]["id"])[0] == 0
    assert shell("faults", "clear")[0] == 0
    assert shell.data("faults", "list") == []
    assert "leader_moved" in shell("faults", "presets")[1]


def test_the_clock_is_moved(shell: Shell) -> None:
    before = shell.data("clock", "freeze")
    after = shell.data("clock", "advance", "24h")
    assert after["now_ms"] - before["now_ms"] == 86_400_000
    assert shell.data("clock", "advance", "1s", "--keep-wall")["wall_ms"] == after["wall_ms"]
    assert shell.data("clock", "jump", "1h", "--back")["wall_ms"] == after["wall_ms"] - 3_600_000
    assert shell.data("clock", "rate", "60")["rate"] == 60
    assert "frozen" in shell("clock", "show")[1]
    assert shell.data("clock", "unfreeze")["frozen"] is False


def test_the_journal_is_listed(shell: Shell) -> None:
    page = shell.data("journal", "list", "--limit", "1")
    assert set(page) == {"requests", "next_cursor", "more"}
    assert "events" in shell.data("journal", "events")


def test_snapshots_and_reset(shell: Shell) -> None:
    shell("topics", "put", "orders", "a")
    assert shell("snapshots", "take", "s")[1] == "kept 1 topic(s) as s\n"
    assert shell("reset")[0] == 0
    assert shell.data("topics", "records", "orders") == []
    assert shell("snapshots", "restore", "s")[0] == 0
    assert len(shell.data("topics", "records", "orders")) == 1
    assert shell("snapshots", "list")[1].splitlines()[1].split() == ["s", "1"]
    assert shell("snapshots", "delete", "s")[0] == 0


def test_what_the_broker_refuses_is_one_line(shell: Shell) -> None:
    assert shell.refused("topics", "show", "x") == "there is no topic 'x'; topics: orders"
    assert shell.refused("faults", "add", '{"api": "Fetsch", "drop": true}').startswith(
        "api: 'Fetsch' is no API"
    )
    assert shell.refused("clock", "rate", "0").startswith("rate: ")


def test_the_cluster_is_shown_and_acted_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with MockBroker(brokers=3, topics={"orders": 1}, admin_port=0) as broker:
        shell = Shell(broker, capsys)
        assert shell("cluster", "kill", "2")[1].splitlines()[2].split() == [
            "2", "-", "down", "yes", "0",
        ]  # fmt: skip
        assert shell("cluster", "show")[1].splitlines()[1].split()[2] == "up"
        assert shell("cluster", "revive", "2")[0] == 0
        assert shell("cluster", "kill", "3", "--no-fence", "--lose", "unflushed")[0] == 0
        assert broker.cluster.brokers == [1, 2]
        scenario = tmp_path / "outage.json"
        scenario.write_text(
            '[{"action": "revive", "node_id": 3}, {"action": "fence", "node_id": 1}]'
        )
        assert shell("cluster", "do", f"@{scenario}")[0] == 0
        assert shell("cluster", "slow-link", "1", "-1", "5")[0] == 0
        assert shell("cluster", "reassign", "orders", "0", "2,3")[0] == 0
        assert broker.cluster.wait_in_sync("orders", 0, [2, 3])
        assert shell("cluster", "move-leader", "orders", "0", "3")[0] == 0
        assert shell("cluster", "elect-preferred", "orders", "0")[0] == 0
        assert broker.cluster.leader("orders", 0) == 2
        assert shell.refused("cluster", "elect-preferred", "orders", "0").startswith("Leader elec")
        assert shell.refused("cluster", "kill", "9") == "there is no broker 9; there are 1, 2, 3"


def test_every_action_on_the_cluster_has_its_help() -> None:
    assert parser._ACTION_HELP.keys() == ACTIONS.keys()


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers of the verbs, and of the commands without any."""
    below = [
        each
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for each in action.choices.values()
    ]
    if not below:
        yield parser
    for each in below:
        yield from leaves(each)


def test_every_verb_has_its_action() -> None:
    root = argparse.ArgumentParser()
    add_commands(root.add_subparsers())
    wanted = {leaf.get_default("action") for leaf in leaves(root)}
    elsewhere = {"docs", "doctor", "healthcheck", "journal_follow", "journal_read", "top"}
    assert wanted - elsewhere
    assert [one for one in wanted - elsewhere if one not in {*actions._DONE, *vars(actions)}] == []


def test_rules_are_waited_for_and_verified(shell: Shell) -> None:
    shell("faults", "add", '{"id": "eye", "api": "Fetch", "observe": true}')
    status, _, err = shell("faults", "wait", "eye", "--timeout", "1ms")
    assert (status, err.startswith("mockbroker: 0 of 1 hit(s) of fault eye")) == (1, True)
    status, out, err = shell("faults", "verify")
    assert (status, out) == (1, "")
    assert "fault eye (api='Fetch', observe=True, id='eye') never fired" in err
    assert shell("faults", "verify", "--strict") == (0, "nothing is wrong\n", "")
