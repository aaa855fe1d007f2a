"""A coordinator whose log is replicated late, or not at all: three brokers, on virtual time.

The records of one transaction go to three partitions, one led by each broker, so that markers go to
the coordinator's own node and over links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from tests.support.cluster_core import ClusterCore
from tests.support.cluster_transactions import OnCluster, ended, read_committed

if TYPE_CHECKING:
    from collections.abc import Callable

GENERATIONS = pytest.mark.parametrize("v1", [False, True], ids=["v2", "v1"])
TIMEOUT_MS = 60_000


@pytest.fixture
def core() -> ClusterCore:
    config = {"transaction.state.log.num.partitions": "6", "replica.fetch.wait.max.ms": "2000"}
    return ClusterCore(topics={"t": 3}, config=config)


def begun(core: ClusterCore, *, v1: bool = False, timeout_ms: int = TIMEOUT_MS) -> OnCluster:
    """A producer with a record in each partition."""
    producer = OnCluster(core, v1=v1)
    producer.find()
    producer.become(producer.init(timeout_ms=timeout_ms))
    for index in range(3):
        producer.write("t", index, f"v{index}")
    return producer


def followers(core: ClusterCore, producer: OnCluster) -> list[int]:
    replicas = core.state(TRANSACTION_STATE_TOPIC, producer.index).replicas
    return [node for node in replicas if node != producer.coordinator]


def visible(core: ClusterCore) -> list[list[str]]:
    return [read_committed(core, "t", index) for index in range(3)]


def hold(core: ClusterCore, producer: OnCluster) -> Callable[[], None]:
    """Replicate nothing of the id's log; what is returned lets it be replicated again."""
    held = followers(core, producer)
    for node in held:
        core.controls.hold_follower(TRANSACTION_STATE_TOPIC, producer.index, node)

    def release() -> None:
        for node in held:
            core.controls.release_follower(TRANSACTION_STATE_TOPIC, producer.index, node)

    return release


ALL = [["v0"], ["v1"], ["v2"]]
NOTHING: list[list[str]] = [[], [], []]


# -- an end that is replicated late ----------------------------------------------------------


@GENERATIONS
@pytest.mark.parametrize("how", ["high watermark", "kill unnoticed", "isolate", "follower"])
def test_an_end_is_answered_when_it_is_replicated(core: ClusterCore, how: str, v1: bool) -> None:
    producer = begun(core, v1=v1)
    part = TRANSACTION_STATE_TOPIC, producer.index
    node, controls = followers(core, producer)[0], core.controls
    disturbances: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
        "high watermark": (
            lambda: controls.hold_high_watermark(*part),
            lambda: controls.release_high_watermark(*part),
        ),
        "kill unnoticed": (
            lambda: controls.kill(node, fence=False),
            lambda: controls.revive(node),
        ),
        "isolate": (lambda: controls.isolate(node), lambda: controls.reconnect(node)),
        "follower": (
            lambda: controls.hold_follower(*part, node),
            lambda: controls.release_follower(*part, node),
        ),
    }
    disturb, undo = disturbances[how]
    disturb()
    client = producer.send_end(commit=True)
    core.advance(8_000)
    assert client.answered == 0
    assert producer.state == "Ongoing"
    core.act(undo)
    core.advance(1_500 if how == "isolate" else 100)  # it fetches again after a back-off
    assert ended(client).error == 0
    core.advance(1_000)
    assert producer.state == "CompleteCommit"
    assert visible(core) == ALL


@GENERATIONS
def test_who_repeats_an_end_under_way_is_told_to_wait(core: ClusterCore, v1: bool) -> None:
    producer = begun(core, v1=v1)
    release = hold(core, producer)
    producer.send_end(commit=True)
    assert producer.end(commit=True).error == 51
    assert producer.end(commit=False).error == 51
    assert producer.init().error == 51
    assert producer.init(producer.producer_id, producer.epoch).error == 51
    assert set(producer.add({"t": [0, 1]}).values()) == {51}
    assert visible(core) == NOTHING
    core.act(release)
    core.advance(1_000)
    assert visible(core) == ALL


@GENERATIONS
@pytest.mark.parametrize("commit", [True, False])
def test_an_end_that_took_too_long_is_as_if_it_had_not_been_asked(
    core: ClusterCore, v1: bool, commit: bool
) -> None:
    """The record stays in the log; a decision that comes after it counts."""
    producer = begun(core, v1=v1, timeout_ms=5_000)
    release = hold(core, producer)
    client = producer.send_end(commit=True)
    core.advance(4_999)
    assert client.answered == 0
    core.advance(1)
    assert ended(client).error == 15
    assert producer.state == "Ongoing"
    core.act(release)
    core.advance(1_000)
    assert producer.state == "Ongoing"
    assert visible(core) == NOTHING
    producer.finish(commit=commit)
    core.advance(1_000)
    assert visible(core) == (ALL if commit else NOTHING)
    assert producer.state == ("CompleteCommit" if commit else "CompleteAbort")


@GENERATIONS
def test_an_end_that_took_too_long_counts_at_the_next_coordinator(
    core: ClusterCore, v1: bool
) -> None:
    """The record was replicated after all, and a log is all that a successor has."""
    producer = begun(core, v1=v1, timeout_ms=5_000)
    release = hold(core, producer)
    client = producer.send_end(commit=True)
    core.advance(5_000)
    assert ended(client).error == 15
    core.act(release)
    core.advance(100)
    core.controls.kill(producer.coordinator)
    core.advance(3_000)
    assert producer.state == "CompleteCommit"
    assert visible(core) == ALL
    told = producer.end(commit=True)
    assert told.error == 0
    assert told.epoch == (-1 if v1 else producer.epoch + 1)


@GENERATIONS
def test_an_end_that_died_with_its_coordinator_is_asked_again(core: ClusterCore, v1: bool) -> None:
    producer = begun(core, v1=v1)
    release = hold(core, producer)
    producer.send_end(commit=True)
    core.controls.kill(producer.coordinator)
    core.act(release)
    core.advance(3_000)
    assert producer.state == "Ongoing"
    assert visible(core) == NOTHING
    producer.finish(commit=True)
    core.advance(1_000)
    assert visible(core) == ALL


def test_an_old_transaction_with_an_end_under_way_does_not_time_out(core: ClusterCore) -> None:
    producer = OnCluster(core)
    producer.find()
    producer.become(producer.init(timeout_ms=15_000))
    producer.write("t", 0, "v0")
    core.advance(14_000)
    release = hold(core, producer)
    client = producer.send_end(commit=True)
    core.advance(7_000)
    assert client.answered == 0
    core.act(release)
    core.advance(1_000)
    assert ended(client).error == 0
    assert read_committed(core, "t") == ["v0"]


def test_an_abort_by_time_out_that_is_not_replicated_is_tried_again(core: ClusterCore) -> None:
    producer = OnCluster(core)
    producer.find()
    producer.become(producer.init(timeout_ms=5_000))
    producer.write("t", 0, "v0")
    release = hold(core, producer)
    core.advance(28_000)
    assert producer.state == "Ongoing"
    assert producer.describe().producer_epoch == 0
    core.act(release)
    core.advance(12_000)
    assert producer.state == "CompleteAbort"
    assert producer.describe().producer_epoch == 1
    assert read_committed(core, "t") == []


# -- what else is replicated late ------------------------------------------------------------


def test_an_id_is_given_when_it_is_replicated(core: ClusterCore) -> None:
    first = OnCluster.begin(core)
    release = hold(core, first)
    with pytest.raises(AssertionError, match="no answer"):
        first.init()
    assert first.describe().producer_epoch == 0
    assert first.init().error == 51
    core.act(release)
    core.advance(100)
    assert first.describe().producer_epoch == 1


@GENERATIONS
def test_a_partition_that_is_not_replicated_is_not_in_the_transaction(
    core: ClusterCore, v1: bool
) -> None:
    """A retry is not told that it is, as long as the coordinator may forget it."""
    producer = OnCluster.begin(core, v1=v1)
    release = hold(core, producer)
    if v1:
        with pytest.raises(AssertionError, match="no answer"):
            producer.add({"t": [0]})
        assert producer.add({"t": [0]}) == {("t", 0): 51}
        assert producer.send("t", 0, "v0") == 120
    else:
        client = producer.send_records("t", 0, "v0")
        core.advance(500)
        assert client.answered == 0
        assert producer.add({"t": [0]}) == {("t", 0): 51}
    assert core.values(core.state("t").leader, "t") == []
    core.controls.kill(producer.coordinator)
    core.act(release)
    core.advance(3_000)
    assert producer.describe().transaction_state == "Empty"
    assert producer.end(commit=True).error == 48
    producer.write("t", 0, "v1")
    producer.finish(commit=True)
    core.advance(1_000)
    assert read_committed(core, "t") == ["v1"]


# -- a coordinator that takes over -----------------------------------------------------------


def test_what_was_taken_over_counts_once_it_is_replicated(core: ClusterCore) -> None:
    """Else markers would follow a decision that is lost with the next coordinator."""
    producer = begun(core)
    old = producer.coordinator
    second, third = followers(core, producer)
    part = TRANSACTION_STATE_TOPIC, producer.index
    core.controls.hold_follower(*part, third)
    producer.send_end(commit=True)
    core.controls.move_leader(*part, second)
    core.controls.isolate(old)
    core.advance(100)
    assert producer.coordinator == second
    assert producer.describe().error_code == 14
    assert producer.end(commit=True).error == 14
    assert producer.add({"t": [0]}) == {("t", 0): 14}
    assert "v0" not in read_committed(core, "t", 0)
    core.controls.release_follower(*part, third)
    core.controls.reconnect(old)
    core.advance(3_000)
    assert producer.state == "CompleteCommit"
    assert visible(core) == ALL


@GENERATIONS
@pytest.mark.parametrize("commit", [True, False])
def test_markers_outlive_their_coordinator(core: ClusterCore, v1: bool, commit: bool) -> None:
    producer = begun(core, v1=v1)
    old = producer.coordinator
    for node in (1, 2, 3):
        if node != old:
            core.controls.hold_high_watermark("t", partition_led_by(core, node))
    core.controls.hold_high_watermark("t", partition_led_by(core, old))
    assert ended(producer.send_end(commit=commit)).error == 0
    core.advance(1_000)
    assert producer.state == ("PrepareCommit" if commit else "PrepareAbort")
    core.controls.kill(old)
    core.advance(3_000)
    for index in range(3):
        core.controls.release_high_watermark("t", index)
    core.advance(5_000)
    assert producer.state == ("CompleteCommit" if commit else "CompleteAbort")
    assert visible(core) == (ALL if commit else NOTHING)


def partition_led_by(core: ClusterCore, node: int) -> int:
    (index,) = [at for at in range(3) if core.state("t", at).leader == node]
    return index


# -- epochs ----------------------------------------------------------------------------------


@GENERATIONS
def test_epochs_grow_over_ends_that_were_not_replicated(core: ClusterCore, v1: bool) -> None:
    producer = OnCluster(core, v1=v1)
    producer.find()
    producer.become(producer.init(timeout_ms=5_000))
    epochs = [producer.epoch]
    for _ in range(2):
        producer.write("t", 0, "a")
        release = hold(core, producer)
        client = producer.send_end(commit=True)
        core.advance(5_000)
        assert ended(client).error == 15
        core.act(release)
        core.advance(100)
        producer.finish(commit=True)
        core.advance(500)
        epochs.append(producer.epoch)
    assert epochs == ([0, 0, 0] if v1 else [0, 1, 2])
