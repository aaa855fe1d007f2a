"""What the admin API needs of the broker that it stands beside. `launch.RunningBroker` is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.network.timekeeper import TimeKeeper
    from mockbroker.state.scope import Scopes

T = TypeVar("T")


class JournalFiles(Protocol):
    """The journal's files, as their writer knows them."""

    @property
    def problem(self) -> str | None:
        """Why they end before the broker does; None while they are written."""

    @property
    def page(self) -> Path | None:
        """What `analyze` made of them, where it lies beside them."""


class Host(Protocol):
    """A running cluster, used in its own event loop."""

    @property
    def version(self) -> str:
        """Of mockbroker."""

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT of each broker, separated by commas."""

    def entrances(self) -> list[tuple[str, str, str]]:
        """Name, security protocol and `bootstrap.servers` of each listener for clients."""

    def requires_certificate(self, listener: str) -> bool:
        """Whether clients of a listener have to show a certificate."""

    def token(
        self,
        principal: str,
        listener: str | None,
        lifetime_ms: int,
        claims: Mapping[str, object] | None,
    ) -> str:
        """A token of OAUTHBEARER for a listener, to be used in `act`; ValueError for none."""

    def pem_file(self, name: str) -> str | None:
        """The file of a client's key and certificate, or of whom to trust, `ca`.

        None where no certificates were made; ValueError for what is no name.
        """

    @property
    def schema_registry(self) -> str | None:
        """URL of the registry that has the schemas of records; None without one."""

    @property
    def strict(self) -> bool:
        """Whether a request that is refused fails a test."""

    @property
    def journal_writer(self) -> JournalFiles | None:
        """What writes the journal's files; None where nobody wants them."""

    @property
    def cluster(self) -> Cluster:
        """The core; look at it and change it by `act` only."""

    @property
    def timekeeper(self) -> TimeKeeper:
        """The cluster's time."""

    @property
    def scopes(self) -> Scopes[Any]:
        """The open scopes; to be used in `act`."""

    def act(self, action: Callable[[Cluster], T]) -> T:
        """Look at the cluster, or act on it, as one step."""

    async def advance(self, by_ms: float, *, wall: bool) -> None:
        """Let so much time pass, in steps between which clients are served; raises ValueError."""

    def watch_steps(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after each step from now on; what is returned ends that."""

    def metrics(self) -> dict[str, float]:
        """What the brokers count, summed."""

    def reset(self) -> None:
        """Make the broker as it was when it started."""
