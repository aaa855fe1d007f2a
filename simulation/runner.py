"""One seed's run from its start to its report, whatever is simulated.

`simulation` and `cluster.simulation` each bring a run: actors in a world, and how they live.
`carry_out` lets it live and reports: which rules were broken, what happened last, and how to run
the seed again. Nothing but the seed decides: two runs of it have one trace hash.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from simulation.stage import Stage


class SeededRun(Protocol):
    """What a simulation brings."""

    seed: int
    command: str
    """How the seed is run again, but for the seed."""

    @property
    def plan(self) -> object:
        """What is on; its text is told."""

    @property
    def world(self) -> Stage:
        """Where it happens."""

    def live(self) -> None:
        """From the first topic to the last check."""

    def counts(self) -> Mapping[str, int]:
        """What was done, by name."""


class Report:
    """What a run was, what it did and what was wrong with it."""

    def __init__(self, run: SeededRun) -> None:
        world = run.world
        self._command = run.command
        self.seed = run.seed
        self.plan = str(run.plan)
        self.violations = world.violations
        self.trace = world.trace.last()
        self.trace_hash = world.trace.digest()
        self.counts = dict(run.counts())

    @property
    def failed(self) -> bool:
        """Whether a rule was broken."""
        return bool(self.violations)

    def explain(self) -> str:
        """For those who have to find out."""
        return "\n".join(
            (
                f"seed {self.seed}: {self.plan}",
                *self.trace,
                f"{len(self.violations)} violations:",
                *(f"  {violation}" for violation in self.violations[:10]),
                f"run it again: {self._command} --seed {self.seed}",
            )
        )


def carry_out(run: SeededRun) -> Report:
    """Let it live. What it raises is raised, with the report as a note."""
    with _garbage_kept():
        try:
            run.live()
        except Exception as error:
            error.add_note(Report(run).explain())
            raise
        return Report(run)


@contextmanager
def _garbage_kept() -> Iterator[None]:
    """A run makes little garbage in circles: looking for it all the time costs a quarter more.

    It is one circle itself, and goes when who has its report looks for garbage (`many`).
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
