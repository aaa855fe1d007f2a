"""A log that refuses what a coordinator writes, while something is leased."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coop.handouts import Handouts
from tests.support.simulated_sharing import sharing_run

if TYPE_CHECKING:
    from mockbroker.coop.handouts import Shared, Taken

pytestmark = pytest.mark.sim


def failed(
    monkeypatch: pytest.MonkeyPatch, *, keeps: bool = False
) -> tuple[list[Taken], list[str]]:
    """What commits took that failed, and what was found in that run."""
    give_back = Handouts.give_back
    taken: list[Taken] = []

    def watched(self: Handouts, shared: Shared, what: Taken) -> None:
        taken.append(what)
        if not keeps:
            give_back(self, shared, what)

    monkeypatch.setattr(Handouts, "give_back", watched)
    run = sharing_run(monkeypatch, "shortages", protocol="alone", by_leases=True)
    run.plan.active_ms, run.plan.every_ms = 3_000.0, 200.0
    run.plan.sharing.lease_ms = 3_000
    run.live()
    for name in ("__consumer_offsets", "__individual_commit_offsets"):
        topic = run.world.cluster.metadata.topics[name]
        assert topic.config.int("min.insync.replicas") == run.plan.min_isr
    return [one for one in taken if one.pieces], run.world.violations


def test_commits_fail_and_all_is_handed_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, wrong = failed(monkeypatch)
    assert taken
    assert wrong == []


def test_what_a_failed_commit_keeps_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    _, wrong = failed(monkeypatch, keeps=True)
    assert "and are nobody's" in "\n".join(wrong)
