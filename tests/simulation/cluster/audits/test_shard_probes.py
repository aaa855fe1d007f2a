"""A shard as it is does what it should; one that does otherwise is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.clock import Clock
from mockbroker.config.broker import BrokerConfig
from mockbroker.coordinator.txn.metadata import TransactionMetadata
from mockbroker.coordinator.txn.shard import TransactionShard
from mockbroker.coordinator.txn.timeouts import Timeouts
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.audits.shard_probes import ShardProbes
from tests.simulation.cluster.audits.test_decision_probes import KNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.coordinator.txn.metadata import Transition


def told(count: int = 300) -> list[str]:
    """What is found in so many rounds."""
    probes, config, clock = ShardProbes(Random(1)), BrokerConfig(), Clock(10**12, 1234.5)
    found = [wrong for _ in range(count) for wrong in probes.look(KNOWN, config, clock)]
    assert probes.asked == count
    assert clock.now_ms == 1234.5
    return found


def test_a_shard_does_what_it_should() -> None:
    assert told() == []


def test_a_change_that_counts_at_once_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(
        _self: object,
        current: TransactionMetadata,
        transition: Transition,
        done: Callable[[ErrorCode], None],
    ) -> None:
        current.apply(transition.value)
        done(ErrorCode.NONE)

    monkeypatch.setattr(TransactionShard, "write", write)
    assert any("before it is replicated" in one for one in told())


def test_a_change_that_is_another_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TransactionMetadata, "apply", lambda *_: None)
    assert any("a change that is answered" in one for one in told())


def test_an_id_that_goes_at_once_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    forgets = TransactionShard.write_tombstones

    def hasty(shard: TransactionShard, doomed: list[TransactionMetadata]) -> None:
        forgets(shard, doomed)
        for one in doomed:
            one.pending_state = None

    monkeypatch.setattr(TransactionShard, "write_tombstones", hasty)
    assert any("takes decisions" in one for one in told())


@pytest.mark.parametrize(
    ("name", "wrong"), [("_abort_overdue", "are fenced, not"), ("_remove_expired", "expire, not")]
)
def test_what_is_not_due_in_time_is_noticed(
    name: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Timeouts, name, lambda _: None)
    assert any(wrong in one for one in told())


def test_an_open_one_that_is_forgotten_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TransactionMetadata, "may_be_forgotten", True)
    monkeypatch.setattr(TransactionShard, "write_tombstones", TransactionShard.write_tombstones)
    with pytest.raises(AssertionError):  # of the shard: something of it is pending
        told()
