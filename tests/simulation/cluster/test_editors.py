"""What a test does without a client is as it was told; what is told otherwise is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.state import (
    delegation_tokens,
    groups,
    reading,
    snapshot_compare,
    topics,
    transactions,
    verdict,
    writing,
)
from simulation.cluster.editors import EditorCrew
from simulation.cluster.simulation import ClusterRun, plan_of

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.sim

ACTS = (
    "_prepare",
    "_change_a_topic",
    "_give_offsets",
    "_forget_a_transaction",
    "_make_a_token",
    "_spoil_a_snapshot",
    "_arm_rules_for_nobody",
)


def rested(*kinds: str) -> EditorCrew:
    """The crew of a run whose clients have gone."""
    plan = plan_of(3)
    plan.on.update({kind: kind in (*kinds, "views") for kind in plan.on})
    plan.active_ms, plan.unclean, plan.topics = 300.0, False, {"t0": 2}
    plan.transactors, plan.processors = int("transactions" in kinds), 0
    run = ClusterRun(3, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, EditorCrew))
    crew.check_again = lambda: None  # type: ignore[method-assign]
    run.live()
    assert not run.world.violations
    return crew


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("kinds", [("transactions", "classic_group"), ("logins", "coop")])
def test_each_is_as_it_was_told(act: str, kinds: tuple[str, ...]) -> None:
    crew = rested(*kinds)
    for _ in range(3):
        getattr(crew, act)()
        assert not crew.world.violations


BROKEN: tuple[tuple[str, object, str, object, str], ...] = (
    ("_prepare", reading.TopicReader, "read", lambda *_: [], "is not in"),
    ("_prepare", snapshot_compare, "differences", lambda *_: [], "of what differs"),
    ("_change_a_topic", topics, "alter", lambda *_: None, "is not refused"),
    ("_change_a_topic", writing, "put", lambda *_: [], "is not refused"),
    ("_give_offsets", groups, "committed_offsets", lambda *_: {("t0", 0): 99}, "of offsets"),
    ("_forget_a_transaction", transactions, "forget", lambda *_: True, "of nobody"),
    ("_make_a_token", delegation_tokens, "listed", lambda *_: [], "of tokens"),
    ("_arm_rules_for_nobody", verdict, "take_away", lambda *_: None, "rules that are left"),
)


@pytest.mark.parametrize(("act", "where", "name", "instead", "wrong"), BROKEN)
def test_what_is_told_otherwise_is_noticed(
    act: str,
    where: object,
    name: str,
    instead: Callable[..., object],
    wrong: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crew = rested("logins")
    monkeypatch.setattr(where, name, instead)
    try:
        getattr(crew, act)()
    except (IndexError, AssertionError):
        assert crew.world.violations
    assert any(wrong in one for one in crew.world.violations)
