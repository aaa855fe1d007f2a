"""A failing seed made small: the fewest steps, kinds and clients that still break the same rule.

Delta debugging (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input): the run is
done again with less, and less is kept as long as it fails alike. Clients draw from streams of their
own, so those that are left do nearly the same. Nothing here throws dice: a seed shrinks to the same
test each time. `shrink` gives that test as Python.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from simulation.cluster.steps import Step

T = TypeVar("T")
Changes = dict[str, object]
MOST_ATTEMPTS = 400
_DETAIL = re.compile(r"b?'[^']*'|b?\"[^\"]*\"|[\[({].*[\])}]|-?\d+(\.\d+)?")


class Attempt(NamedTuple):
    """What a run was. `wrong` is the first rule that it broke, or what it raised; None: neither."""

    wrong: str | None
    wrong_ms: float
    steps: Sequence[Step]
    clients: Sequence[str]


class Seed(Protocol):
    """A seed of some simulation, as a shrinker sees it."""

    number: int

    @property
    def imports(self) -> Sequence[str]:
        """What a printed test imports."""

    def kinds(self) -> Sequence[str]:
        """The kinds that its plan has on."""

    def sizes(self) -> Iterable[tuple[str, Sequence[object]]]:
        """Sizes of its plan by name, each with smaller ones, the smallest first."""

    def run(self, steps: Sequence[Step] | None, changes: Mapping[str, object]) -> Attempt:
        """Run it with this plan; None: with the operator's own steps."""


def signature(wrong: str | None) -> str | None:
    """The rule, without whom and when it met."""
    return None if wrong is None else _DETAIL.sub("#", wrong.splitlines()[0])


class Shrinker:
    """Makes one seed small; `attempts` counts the runs that it took."""

    def __init__(self, seed: Seed, tell: Callable[[str], object] = lambda _line: None) -> None:
        self._seed = seed
        self._tell = tell
        self.attempts = 0
        self.changes: Changes = {}
        first = seed.run(None, {})
        self.wrong = first.wrong
        self.steps = self.steps_before = list(first.steps)
        self._last = first
        self._signature = signature(first.wrong)

    def shrink(self) -> str | None:
        """The seed as a test, as small as it gets; None when it breaks no rule."""
        if self.wrong is None:
            return None
        assert self._fails(self.steps, self.changes), "the same steps do not fail again"
        size = None
        while size != (size := (len(self.steps), len(repr(self.changes)))):
            self._shorten()
            self._keep_steps(_fewest(self.steps, lambda left: self._fails(left, self.changes)))
            self._drop_clients()
            self._drop_kinds()
            self._take_smaller_sizes()
        self._round_times()
        return self.as_test()

    def _fails(self, steps: Sequence[Step], changes: Changes) -> bool:
        """Whether the run with these fails alike."""
        if self.attempts >= MOST_ATTEMPTS:
            return False
        self.attempts += 1
        attempt = self._seed.run(steps, changes)
        fails = signature(attempt.wrong) == self._signature
        if fails:
            self._last = attempt
        return fails

    def _keep_steps(self, steps: list[Step]) -> None:
        self.steps = steps
        self._tell(f"{len(steps)} steps, {self.changes}")

    def _try(self, changes: Changes) -> bool:
        fails = self._fails(self.steps, changes)
        if fails:
            self.changes = changes
            self._tell(f"{len(self.steps)} steps, {changes}")
        return fails

    def _shorten(self) -> None:
        """What happens after the rule is broken does not matter; faults may end earlier."""
        active_ms = dict(self._seed.sizes())["active_ms"][-1]
        assert isinstance(active_ms, float | int)
        known = self.changes.get("active_ms", active_ms)
        end_ms = self._last.wrong_ms
        last_step_ms = max((step.at_ms for step in self.steps), default=0.0)
        for wanted_ms in (10.0, last_step_ms + 1.0, last_step_ms + 100.0, end_ms + 1.0):
            shorter_ms = float(-int(-wanted_ms // 1))
            assert isinstance(known, float | int)
            if shorter_ms < known:
                steps = [step for step in self.steps if step.at_ms <= shorter_ms]
                changes = {**self.changes, "active_ms": shorter_ms}
                if self._fails(steps, changes):
                    self.changes = changes
                    self._keep_steps(steps)
                    return

    def _drop_clients(self) -> None:
        clients = [*self._last.clients]
        gone = self.changes.get("without", [])
        assert isinstance(gone, list)

        def fails(left: Sequence[str]) -> bool:
            without = [*gone, *(name for name in clients if name not in left)]
            return self._fails(self.steps, {**self.changes, "without": without})

        left = _fewest(clients, fails)
        without = [*gone, *(name for name in clients if name not in left)]
        if without != gone:
            self.changes = {**self.changes, "without": without}
            self._tell(f"{len(self.steps)} steps, {self.changes}")

    def _drop_kinds(self) -> None:
        off = self.changes.get("off", [])
        assert isinstance(off, list)
        kinds = [kind for kind in self._seed.kinds() if kind not in off]

        def without(left: Sequence[str]) -> Changes:
            return {**self.changes, "off": [*off, *(kind for kind in kinds if kind not in left)]}

        left = _fewest(kinds, lambda left: self._fails(self.steps, without(left)))
        if len(left) < len(kinds):
            self.changes = without(left)

    def _take_smaller_sizes(self) -> None:
        for name, sizes in self._seed.sizes():
            if name == "active_ms":
                continue
            known = self.changes.get(name, sizes[-1])
            for size in sizes[:-1]:
                if size == known or self._try({**self.changes, name: size}):
                    break

    def _round_times(self) -> None:
        """Times that are easier to read, if it fails with them too."""
        for digits in (-1, 0, 1):
            rounded = [step.at(round(step.at_ms, digits)) for step in self.steps]
            if self._fails(rounded, self.changes):
                self._keep_steps(rounded)
                return

    def as_test(self) -> str:
        """A module with one test."""
        number, steps = (
            self._seed.number,
            "".join(f"            {step!r},\n" for step in self.steps),
        )
        lines = [f"        {number},\n"]
        if self._seed.imports[-1].endswith("Step"):
            lines.append(f"        [\n{steps}        ],\n" if steps else "        [],\n")
        for name, value in self.changes.items():
            if value:
                told = repr(value).replace("'", '"')
                lines.append(f"        {name}={told},\n")
        return (
            f'"""Seed {number}, {len(self.steps_before)} steps shrunk to {len(self.steps)}."""\n\n'
            "from __future__ import annotations\n\n"
            f"{''.join(f'{line}{chr(10)}' for line in self._seed.imports)}\n\n"
            f"def test_seed_{number}() -> None:\n"
            f"    # {str(self.wrong)[:90]}\n"
            f"    report = replay(\n{''.join(lines)}    )\n"
            "    assert not report.failed, report.explain()\n"
        )


def _fewest(items: Sequence[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """A short list of these that still fails, of which none can be left out (ddmin)."""
    left = list(items)
    if left and fails([]):
        return []
    chunk = max(1, len(left) // 2)
    while left:
        at, dropped = 0, False
        while at < len(left):
            less = left[:at] + left[at + chunk :]
            if less and fails(less):
                left, dropped = less, True
            else:
                at += chunk
        if chunk == 1 and not dropped:
            break
        chunk = chunk if dropped and chunk == 1 else max(1, chunk // 2)
    return left
