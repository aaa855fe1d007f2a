"""A core with scopes and a clock of its own, whose state is held against what it was."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from mockbroker.network.timekeeper import TimeKeeper
from mockbroker.state.scope import Scopes
from tests.support.core_state import differences, dump

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.core import Core

SETTLED_MS = 1000


class Scoped:
    """`core` in a frozen time that `advance` moves."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.cluster = core.cluster
        core.advance(SETTLED_MS)
        self.keeper = TimeKeeper(self.cluster, frozen=True)
        self.scopes = Scopes(self.cluster, self.keeper)

    def advance(self, milliseconds: float) -> None:
        """Let time pass."""
        self.keeper.advance(milliseconds)
        self.core.now_ms = self.keeper.now_ms()
        self.core.deliver()

    def settle(self) -> None:
        """Let brokers tell each other what there is, in no wall time."""
        self.keeper.advance(SETTLED_MS, wall=False)
        self.core.now_ms = self.keeper.now_ms()
        self.core.deliver()

    def begin(self) -> Callable[[], None]:
        """Open a scope; what is returned ends it."""
        scope = self.core.act(self.scopes.begin)
        return lambda: self.core.act(lambda: self.scopes.end(scope))

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """A scope, after which all must be what it was."""
        self.settle()
        before, wall_ms = dump(self.cluster), self.keeper.wall_ms
        end = self.begin()
        yield
        end()
        assert self.keeper.wall_ms == wall_ms
        self.core.deliver()
        self.settle()
        found = list(differences(before, dump(self.cluster)))
        assert not found, "\n".join(found)
