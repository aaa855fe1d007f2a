"""The seeds of both simulations as `shrinking` wants them: run again with less of everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.cluster.simulation import ClusterRun, plan_of, simulate_cluster
from simulation.runner import carry_out
from simulation.shrinking import Attempt
from simulation.simulation import Run, simulate, swarm_plan_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from simulation.cluster.steps import Step
    from simulation.runner import Report, SeededRun


def _outcome(run: SeededRun) -> tuple[str | None, float]:
    """What is wrong with it, and when."""
    try:
        report = carry_out(run)
    except Exception as error:  # noqa: BLE001 - whatever it raises is the finding
        return f"{type(error).__name__}: {error}", run.world.now_ms
    if not report.failed:
        return None, 0.0
    time, _, wrong = report.violations[0].partition(" ms: ")
    return wrong, float(time)


class ClusterSeed:
    """A seed of the simulated cluster."""

    imports = (
        "from simulation.cluster.simulation import replay",
        "from simulation.cluster.steps import Step",
    )

    def __init__(self, number: int) -> None:
        self.number = number

    def report(self) -> Report:
        """Run it as it is."""
        return simulate_cluster(self.number)

    def kinds(self) -> list[str]:
        return [kind for kind, is_on in plan_of(self.number).on.items() if is_on]

    def sizes(self) -> Iterable[tuple[str, Sequence[object]]]:
        plan = plan_of(self.number)
        topics = plan.topics
        first = next(iter(topics))
        yield "active_ms", (plan.active_ms,)
        yield "brokers", (3, plan.brokers)
        yield "topics", ({first: 1}, {first: topics[first]}, topics)

    def run(self, steps: Sequence[Step] | None, changes: Mapping[str, object]) -> Attempt:
        plan = plan_of(self.number)
        plan.change(changes)
        run = ClusterRun(self.number, plan, steps)
        wrong, wrong_ms = _outcome(run)
        names = (client.name for crew in run.crews for client in crew.clients)
        clients = list(dict.fromkeys(name.partition(".")[0] for name in names))  # all incarnations
        return Attempt(wrong, wrong_ms, run.operator.steps, clients)


class BrokerSeed:
    """A seed of one broker: its operator has no steps of their own, its kinds go."""

    imports = ("from simulation.simulation import replay",)

    def __init__(self, number: int) -> None:
        self.number = number

    def report(self) -> Report:
        """Run it as it is."""
        return simulate(self.number)

    def kinds(self) -> list[str]:
        return [kind for kind, is_on in swarm_plan_of(self.number).on.items() if is_on]

    def sizes(self) -> Iterable[tuple[str, Sequence[object]]]:
        plan = swarm_plan_of(self.number)
        topics = plan.topics
        first = next(iter(topics))
        yield "active_ms", (plan.active_ms,)
        yield "rounds", (1, plan.rounds)
        yield "topics", ({first: 1}, {first: topics[first]}, topics)

    def run(self, _steps: Sequence[Step] | None, changes: Mapping[str, object]) -> Attempt:
        plan = swarm_plan_of(self.number)
        plan.change(changes)
        run = Run(self.number, plan)
        wrong, wrong_ms = _outcome(run)
        clients = [each.name for each in (*run.consumers, *run.producers)]
        return Attempt(wrong, wrong_ms, (), clients)
