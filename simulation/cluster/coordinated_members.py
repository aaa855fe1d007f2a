"""Members of any kind of group: they find their coordinator, keep a pace, and misbehave.

A member may crash and come back after a while, be too slow for its session, or leave; which of
that, its group's plan says. How it comes in, and what it does then, is for subclasses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from simulation.cluster.clients import ClusterClient

if TYPE_CHECKING:
    from collections.abc import Mapping

FIND_VERSION = 3
CRASHES, IS_SLOW = 0.03, 0.04
"""The chances of a step."""


class Habits(Protocol):
    """What a plan says of the members of a group."""

    @property
    def on(self) -> Mapping[str, bool]:
        """Which habits they have."""

    @property
    def pause_ms(self) -> float:
        """How long a step rests at most."""


class CoordinatedMember(ClusterClient, ABC):
    """A member that has a coordinator, or looks for it."""

    group: Habits
    leaves: float
    """The chance of a step, where members leave."""
    coordinator: int | None = None
    calm = False
    """Whether it behaves from now on."""

    @property
    @abstractmethod
    def group_id(self) -> str:
        """Whose coordinator it looks for."""

    @property
    @abstractmethod
    def is_in(self) -> bool:
        """Whether it has joined and may work."""

    @abstractmethod
    def lose_identity(self) -> None:
        """It begins anew, as a new process would."""

    @abstractmethod
    def leave(self, node: int) -> None:
        """Say good bye to the coordinator, and come back as somebody new."""

    def misbehaves(self) -> bool:
        """Whether it crashed, slept or left in place of the next step."""
        on, rng = self.group.on, self.rng
        if on["crash"] and rng.random() < CRASHES:
            self.note("crashes")
            self.lose_identity()
            self.later(rng.choice((20.0, 400.0, 1_200.0)))
            return True
        if on["slow"] and rng.random() < IS_SLOW:
            self.note("is slow")
            self.later(rng.choice((200.0, 900.0, 2_000.0)))
            return True
        if (
            on["leave"]
            and self.coordinator is not None
            and self.is_in
            and rng.random() < self.leaves
        ):
            self.leave(self.coordinator)
            return True
        return False

    def pause(self) -> None:
        """Go on at the usual pace."""
        self.later(self.rng.random() * self.group.pause_ms + 1.0)

    def find(self) -> None:
        """Ask any broker who coordinates the group."""

        def found(answer: FindCoordinatorResponse | None) -> None:
            if answer is not None and answer.error_code == ErrorCode.NONE:
                self.coordinator = answer.node_id
            self.later(1.0 if self.coordinator is not None else 100.0)

        request = FindCoordinatorRequest(key=self.group_id)
        self.ask(self.any_node(), request, FIND_VERSION, FindCoordinatorResponse, found)
