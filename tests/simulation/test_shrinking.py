"""A failing seed gets as small as it can, always alike, and its test runs as it is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.replica.in_sync import Followers
from simulation.cluster.steps import Step
from simulation.seeds import ClusterSeed
from simulation.shrinking import Attempt, Shrinker, signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

pytestmark = pytest.mark.sim


class TwoStepsAreToBlame:
    """Fails when steps 3 and 7 are taken, client `b` works and kind `y` is on."""

    number = 5
    imports = ("from simulation.cluster.steps import Step",)

    def __init__(self) -> None:
        self.runs = 0

    def kinds(self) -> list[str]:
        return ["x", "y", "z"]

    def sizes(self) -> Iterable[tuple[str, Sequence[object]]]:
        yield "active_ms", (1_000.0,)
        yield "brokers", (3, 5)

    def run(self, steps: Sequence[Step] | None, changes: Mapping[str, object]) -> Attempt:
        self.runs += 1
        taken = [Step(n + 0.25, "kill", node_id=n) for n in range(20)] if steps is None else steps
        gone, off = changes.get("without", []), changes.get("off", [])
        assert isinstance(gone, list)
        assert isinstance(off, list)
        fails = {3, 7} <= {step.fields["node_id"] for step in taken}
        fails = fails and "b" not in gone and "y" not in off
        clients = [name for name in "abc" if name not in gone]
        return Attempt("t0-0: 3 of [1, 2] lost" if fails else None, 500.0, taken, clients)


def test_only_what_is_to_blame_is_left() -> None:
    seed = TwoStepsAreToBlame()
    shrinker = Shrinker(seed)
    test = shrinker.shrink()
    assert test is not None
    assert [step.fields["node_id"] for step in shrinker.steps] == [3, 7]
    assert shrinker.changes == {
        "active_ms": 9.0,
        "without": ["a", "c"],
        "off": ["x", "z"],
        "brokers": 3,
    }
    assert "        Step(" in test
    assert "20 steps shrunk to 2" in test
    assert seed.runs < 60
    again = Shrinker(TwoStepsAreToBlame())
    assert again.shrink() == test


def test_a_rule_is_the_same_whoever_breaks_it() -> None:
    assert signature("t0-1: broker 2 lacks 7 of [1, 3]") == signature(
        "t0-0: broker 3 lacks 1 of [2]"
    )
    assert signature("a") != signature("b")
    assert signature(None) is None


def test_a_seed_that_keeps_the_rules_is_left_alone() -> None:
    assert Shrinker(ClusterSeed(4)).shrink() is None


def test_the_printed_test_runs_as_it_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Followers, "high_watermark", lambda _self, leader_end, *_: leader_end)
    shrinker = Shrinker(ClusterSeed(4))
    test = shrinker.shrink()
    assert test is not None
    assert len(shrinker.steps) < len(shrinker.steps_before) / 2
    module: dict[str, object] = {}
    exec(test, module)
    run = module["test_seed_4"]
    assert callable(run)
    with pytest.raises(AssertionError):
        run()
    monkeypatch.undo()
    run()
