"""Crews of the cluster's simulation: clients of one sort, and what must hold of them together.

A crew is a module of its own beside this one, named in `simulation.CREWS`; `plan.CREW_KINDS` names
the kinds of its own that a seed may draw. The run calls, in this order: the constructor, which
hires clients and adds acts to the operator; `start`; `stop` when the faults are over; `finish` once
the cluster is well, and waits until no writer is busy; `behind` until that is empty; `check`, and
`check_again` when what was there before is there again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from random import Random

    from simulation.cluster.clients import ClusterClient
    from simulation.cluster.operators import ClusterOperator
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

C_co = TypeVar("C_co", bound="ClusterClient", covariant=True)


class ClientMaker(Protocol[C_co]):
    """A class of clients, or what makes one of them."""

    def __call__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan, /
    ) -> C_co: ...


class CrewSetting:
    """What a crew works with. `stream` gives the seed's own randomness for one purpose."""

    def __init__(
        self,
        world: ClusterWorld,
        truth: Truth,
        plan: ClusterPlan,
        operator: ClusterOperator,
        stream: Callable[[str], Random],
    ) -> None:
        self.world = world
        self.truth = truth
        self.plan = plan
        self.operator = operator
        self.stream = stream

    def names(self, stem: str, count: int) -> Iterator[str]:
        """The names of so many clients, less those that a shrunk run does without."""
        for number in range(count):
            if f"{stem}{number}" not in self.plan.without:
                yield f"{stem}{number}"

    def hire(self, make: ClientMaker[C_co], stem: str, count: int) -> list[C_co]:
        """So many clients that need nothing but this setting."""
        world, truth, plan = self.world, self.truth, self.plan
        return [
            make(world, name, self.stream(name), truth, plan) for name in self.names(stem, count)
        ]


class Crew:
    """Its `clients` work; a subclass hires them, and says what it did and what must hold."""

    def __init__(self, setting: CrewSetting) -> None:
        self.world = setting.world
        self.truth = setting.truth
        self.plan = setting.plan
        self.clients: list[ClusterClient] = []
        self._last_busy: ClusterClient | None = None

    def start(self) -> None:
        """All begin."""
        for client in self.clients:
            client.start()

    def stop(self) -> None:
        """Writers begin nothing new; readers read on."""
        for client in self.clients:
            if not client.reads_on:
                client.stop()

    def finish(self) -> None:
        """The cluster is well: writers do what must be possible now, then are done."""
        for client in self.clients:
            client.finish()

    def busy(self) -> list[str]:
        """The writers that are not done."""
        return [each.name for each in self.clients if each.busy and not each.reads_on]

    def is_busy(self) -> bool:
        """Whether there is one: asked after each event, so whoever was last is asked first."""
        last = self._last_busy
        if last is None or not last.busy:
            unfinished = (each for each in self.clients if each.busy and not each.reads_on)
            last = self._last_busy = next(unfinished, None)
        return last is not None

    def behind(self) -> str:
        """Who has not yet read what is there; empty: all have."""
        return ""

    def check(self) -> None:
        """All is at rest: what must hold now goes to `world.violate` if it does not."""

    def check_again(self) -> None:
        """A scope has ended, a snapshot is restored: what must hold then."""

    def counts(self) -> Mapping[str, int]:
        """What was done, by name."""
        return {}
