"""A coordinator that costs nothing until a client needs it.

A broker that starts has imported none of the group protocol and none of transactions; the first
request about them makes the coordinator. `cluster` says before that how partitions are owned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.coordinator.runtime import CoordinatorRuntime, Replication


class Coordinator(Protocol):
    """What is made: a coordinator's service."""

    @property
    def runtime(self) -> CoordinatorRuntime[Any]:
        """Its shards, and who owns them."""


CoordinatorT = TypeVar("CoordinatorT", bound=Coordinator)


class LazyCoordinator(Generic[CoordinatorT]):
    """`make()` makes the coordinator at the first use of `service`."""

    __slots__ = ("_make", "_service", "replication")

    def __init__(self, make: Callable[[], CoordinatorT]) -> None:
        self._make = make
        self._service: CoordinatorT | None = None
        self.replication: Replication | None = None
        """Set before the first use, where there are other brokers."""

    @property
    def in_use(self) -> bool:
        """Whether a client has needed it yet."""
        return self._service is not None

    @property
    def service(self) -> CoordinatorT:
        """The coordinator itself."""
        if self._service is None:
            self._service = self._make()
            self._service.runtime.replication = self.replication
        return self._service
