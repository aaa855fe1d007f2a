"""What overtakes an earlier message of its link is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.cluster.links.link import Link
from simulation.cluster.audits.link_probes import LinkProbes
from simulation.cluster.steps import Step, Verbs
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    import pytest


def probed(*later: Step) -> tuple[list[str], int]:
    """What is found where brokers speak over slow links, and then do these; how often probed."""
    world = SimulatedCluster().world
    verbs = Verbs(world.cluster)
    probes = LinkProbes(world, verbs)
    ends = [(one, other) for one in world.nodes for other in world.nodes if one != other]
    for source, target in ends:
        verbs.perform(Step(0.0, "slow_link", source=source, target=target, delay_ms=700.0))
    world.run_for(1_000)
    for step in later:
        for source, target in ends:
            world.operate(
                lambda step=step, ends=(source, target): verbs.perform(  # type: ignore[misc]
                    Step(0.0, step.action, source=ends[0], target=ends[1], **step.fields)
                )
            )
        world.run_for(100)
    world.run_for(2_000)
    return world.violations, probes.sent


QUICKER = Step(0.0, "slow_link", delay_ms=3.0)
AT_ONCE = Step(0.0, "restore_link")


def test_messages_in_order_are_let_pass() -> None:
    for steps in ((QUICKER, AT_ONCE), (AT_ONCE,)):
        found, sent = probed(*steps)
        assert found == []
        assert sent


def test_a_link_on_which_nothing_is_on_its_way_is_left_alone() -> None:
    found, sent = probed()
    assert (found, sent) == ([], 0)


def test_what_overtakes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def send(self: Link, deliver: object) -> None:
        self._links.arrived.append(deliver)  # type: ignore[arg-type]

    schedule = Link._schedule
    monkeypatch.setattr(Link, "send", lambda self, deliver: (
        send(self, deliver) if self.delay_ms <= 0 else schedule(self, deliver)
    ))  # fmt: skip
    found, sent = probed(AT_ONCE)
    assert sent
    assert "before one that was sent earlier" in found[0]


def found_by_cuts() -> list[str]:
    """What is found where a link is cut, and carries again right after."""
    world = SimulatedCluster().world
    verbs = Verbs(world.cluster)
    probes = LinkProbes(world, verbs)
    for action in ("cut_link", "restore_link"):
        step = Step(0.0, action, source=1, target=2)
        world.operate(lambda step=step: verbs.perform(step))  # type: ignore[misc]
    world.run_for(100)
    assert probes.lost == 1
    return world.violations


def test_what_is_lost_is_in_order() -> None:
    assert found_by_cuts() == []


def test_what_arrives_over_a_cut_link_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def sever(self: Link) -> None:
        self.cut = True

    monkeypatch.setattr(Link, "sever", sever)
    assert "has arrived, and the link was cut" in found_by_cuts()[0]
