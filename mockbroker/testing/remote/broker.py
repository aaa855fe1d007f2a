"""A broker elsewhere with the verbs of `MockBroker`: what `MockBroker.connect` returns."""

from __future__ import annotations

from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self, cast

from mockbroker.admin.client import AdminApiError, AdminClient, segment
from mockbroker.state.snapshot_file import SnapshotError
from mockbroker.testing.client_config import ClientConfigs, Entrance
from mockbroker.testing.elsewhere import AsyncElsewhere, Elsewhere
from mockbroker.testing.not_supported import Refusal
from mockbroker.testing.polling import AsyncPollingBridge, PollingBridge
from mockbroker.testing.remote.cluster import RemoteClockView, RemoteClusterView
from mockbroker.testing.remote.delegation_tokens import RemoteDelegationTokens
from mockbroker.testing.remote.entrance import RemoteEntrance
from mockbroker.testing.remote.faults import RemoteFaultsView, verdict_of
from mockbroker.testing.remote.groups import RemoteGroupView, group_ids
from mockbroker.testing.remote.journal import RemoteJournalView, cursor
from mockbroker.testing.remote.refusals import refused_as
from mockbroker.testing.remote.topics import RemoteTopicView, topic_names
from mockbroker.testing.remote.transactions import RemoteTransactionView, transactional_ids

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from os import PathLike

    from mockbroker.state.snapshot import Snapshot
    from mockbroker.state.verdict import Verdict
    from mockbroker.telemetry.client_metrics import PushedMetrics
    from mockbroker.testing.aio import AsyncBroker
    from mockbroker.testing.bridge import Bridge
    from mockbroker.testing.clock_view import ClockView
    from mockbroker.testing.cluster_view import ClusterView
    from mockbroker.testing.faults_view import FaultsView
    from mockbroker.testing.group_view import GroupView
    from mockbroker.testing.journal_view import JournalView
    from mockbroker.testing.metadata_log_view import MetadataLogView
    from mockbroker.testing.topic_view import TopicView
    from mockbroker.testing.transaction_view import TransactionView

__tracebackhide__ = True

_PAUSES_SECONDS: Final = (0.005, 0.05)
_NO_QUORUM: Final = "the admin API does not have it: use MockBroker in the test's own process"


class RemoteViews(RemoteDelegationTokens):
    """The verbs of a broker elsewhere over its bridge."""

    def __init__(
        self, caller: PollingBridge[AdminClient], url: str, cluster: dict[str, Any]
    ) -> None:
        super().__init__(cast("Bridge", caller))
        self._caller = caller
        self._url = url
        self._cluster = cluster

    def _over(self, bridge: AsyncPollingBridge[AdminClient]) -> RemoteViews:
        """The same of coroutines."""
        return RemoteViews(cast("PollingBridge[AdminClient]", bridge), self._url, self._cluster)

    @property
    def bootstrap_servers(self) -> str:
        return str(self._cluster["bootstrap_servers"])

    @property
    def host(self) -> str:
        return self._first[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self._first[1])

    @property
    def _first(self) -> tuple[str, str]:
        host, _, port = self.bootstrap_servers.partition(",")[0].rpartition(":")
        return host, port

    @property
    def controller_servers(self) -> str | None:
        return None

    @property
    def admin_url(self) -> str | None:
        return self._url

    @property
    def cluster_id(self) -> str:
        return str(self._cluster["cluster_id"])

    def metrics(self) -> dict[str, float]:
        return self._caller.call(
            lambda client: cast("dict[str, float]", client.get("/v1/metrics")["metrics"])
        )

    def client_metrics(self) -> list[PushedMetrics]:
        from base64 import b64decode

        from mockbroker.telemetry.client_metrics import PushedMetrics

        def look(client: AdminClient) -> list[PushedMetrics]:
            return [
                PushedMetrics(
                    **{
                        **one,
                        "client_instance_id": bytes.fromhex(one["client_instance_id"]),
                        "metrics": b64decode(one["metrics"]),
                    }
                )
                for one in client.get("/v1/client-metrics")["client_metrics"]
            ]

        return self._caller.call(look)

    @property
    def cluster(self) -> ClusterView[Any]:
        return RemoteClusterView(self._caller)

    def topic(self, name: str) -> TopicView[Any]:
        return RemoteTopicView(self._caller, name)

    def topics(self) -> list[str]:
        return self._caller.call(topic_names)

    def group(self, group_id: str) -> GroupView[Any]:
        return RemoteGroupView(self._caller, group_id)

    def groups(self) -> list[str]:
        return self._caller.call(group_ids)

    def transaction(self, transactional_id: str) -> TransactionView[Any]:
        return RemoteTransactionView(self._caller, transactional_id)

    def transactions(self) -> list[str]:
        return self._caller.call(transactional_ids)

    def report(self, lines: int = 20) -> str:
        since = self._caller.journal_since
        return self._caller.call(
            lambda client: str(client.get("/v1/report", lines=lines, since=since)["text"])
        )

    def verdict(self, *, strict: bool | None = None, spared: Collection[str] = ()) -> Verdict:
        body = {"strict": strict, "since": self._caller.journal_since, "spared": sorted(spared)}
        return self._caller.call(lambda client: verdict_of(client.send("POST", "/v1/verify", body)))

    def verify(self, *, strict: bool | None = None) -> None:
        body = {"strict": strict, "since": self._caller.journal_since}
        return self._caller.call(
            lambda client: verdict_of(client.send("POST", "/v1/verify", body)).check()
        )

    def reset(self) -> None:
        def reset(client: AdminClient) -> None:
            client.send("POST", "/v1/reset")
            self._caller.journal_since = cursor(client)

        return self._caller.call(reset)

    @property
    def left_over(self) -> tuple[str, ...]:
        return self._caller.call(lambda client: tuple(client.get("/v1/scopes")["left_over"]))

    @property
    def journal(self) -> JournalView:
        return RemoteJournalView(self._caller, self._caller.journal_since)

    @property
    def faults(self) -> FaultsView:
        return RemoteFaultsView(self._caller)

    @property
    def clock(self) -> ClockView[Any]:
        return RemoteClockView(self._caller)

    @property
    def metadata_log(self) -> MetadataLogView:
        return cast("MetadataLogView", Refusal("metadata_log", _NO_QUORUM))

    def snapshot(self, path: str | PathLike[str] | None = None) -> Snapshot:
        from mockbroker.state.snapshot_file import from_bytes

        def take(client: AdminClient) -> Snapshot:
            with refused_as(SnapshotError):
                data = client.exchange("GET", "/v1/snapshot-file", wait_seconds=60)
            if path is not None:
                try:
                    with open(path, "wb") as file:
                        file.write(data)
                except OSError as error:
                    raise SnapshotError(f"{path}: {error.strerror or error}") from None
            return from_bytes(data)

        return self._caller.call(take)

    def restore(self, snapshot: Snapshot | str | PathLike[str]) -> None:
        from mockbroker.state.snapshot import Snapshot
        from mockbroker.state.snapshot_file import load, to_bytes

        found = snapshot if isinstance(snapshot, Snapshot) else load(str(snapshot))

        def restore(client: AdminClient) -> None:
            with refused_as(SnapshotError):
                client.send("POST", "/v1/snapshot-file/restore", to_bytes(found), wait_seconds=60)

        return self._caller.call(restore)

    @contextmanager
    def scope(self, prefix: str | None = None) -> Iterator[Self]:
        """As `BrokerViews.scope`; with `prefix` of a broker that others use too.

        Then the topics, groups and transactional ids that begin so are taken away, and no more.
        """
        caller = self._caller
        outer = caller.journal_since
        if prefix is not None:
            before = caller.call(_Holdings)
            caller.journal_since = caller.call(cursor)
            try:
                yield self
            finally:
                caller.journal_since = outer
                caller.call(lambda client: before.delete_since(client, prefix))
            return
        scope_id = caller.call(lambda client: client.send("POST", "/v1/scopes")["id"])
        spared = [one.id for one in self.faults.list()]
        caller.journal_since = caller.call(cursor)
        found = None
        try:
            yield self
            found = self.verdict(spared=spared)
        finally:
            if found is None:  # the body's error is the one to tell
                self.verdict(spared=spared)
            caller.journal_since = outer
            caller.call(lambda client: _delete(client, f"/v1/scopes/{scope_id}"))
        found.check()


class RemoteClientConfigs(ClientConfigs, RemoteViews):
    """The same, with what clients are configured with."""

    _known: RemoteEntrance | None = None
    _given: Mapping[str, str] = MappingProxyType({})
    """With their passwords, where who started the broker has told them."""

    def _users(self) -> Mapping[str, str]:
        return self._given

    def _entrance(self) -> Entrance:
        known = self._known
        if known is None or known.caller is not self._caller:
            known = self._known = RemoteEntrance(self._caller, self.bootstrap_servers)
        return known


class RemoteBroker(Elsewhere, RemoteClientConfigs):
    """The broker whose admin API is at `url`; `token` is its bearer token.

    `bootstrap_servers` is what its clients are given, where that is not what it says of itself.
    Raises AdminApiError when it does not answer, or is none. A `with` around it does nothing: it
    was started elsewhere, and it goes on.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        bootstrap_servers: str | None = None,
        ca_file: str | None = None,
    ) -> None:
        attach(self, url, token, bootstrap_servers, ca_file)

    @property
    def aio(self) -> AsyncBroker:
        """The same verbs as coroutines: `await broker.aio.topic("orders").wait_for(1)`."""
        return awaited(self)


def tell_users(broker: RemoteClientConfigs, users: Mapping[str, str]) -> None:
    """Who started the broker knows the passwords of its users."""
    broker._given = users  # noqa: SLF001


def attach(
    views: RemoteViews,
    url: str,
    token: str | None,
    bootstrap_servers: str | None = None,
    ca_file: str | None = None,
) -> None:
    """Let the views be those of the broker at `url`. Raises AdminApiError."""
    tls = None
    if ca_file is not None:
        import ssl

        tls = ssl.create_default_context(cafile=ca_file)
    client = AdminClient(url, token, tls)
    cluster = client.get("/v1/cluster")
    if not isinstance(cluster, dict) or "mockbroker" not in cluster:
        raise AdminApiError(f"{client.url} is no admin API of mockbroker")
    if bootstrap_servers is not None:
        cluster["bootstrap_servers"] = bootstrap_servers
    RemoteViews.__init__(views, PollingBridge(client, _PAUSES_SECONDS), client.url, cluster)


def awaited(views: RemoteViews) -> AsyncBroker:
    """The verbs of these views as coroutines."""
    return AsyncElsewhere(views, views._over(AsyncPollingBridge(views._caller)))  # noqa: SLF001


_NAMED: Final = {"transactions": "transactional_id", "groups": "group_id", "topics": "name"}
"""What a scope of a shared broker takes away, with the field that has its name."""


class _Holdings:
    """What a broker holds at one moment: what is there later and was not, a scope takes away."""

    def __init__(self, client: AdminClient) -> None:
        self._known = {kind: set(_names(client, kind)) for kind in _NAMED}

    def delete_since(self, client: AdminClient, prefix: str) -> None:
        """Delete what begins with the prefix and was not there then."""
        for kind, known in self._known.items():
            for name in _names(client, kind):
                if name not in known and name.startswith(prefix):
                    _delete(client, f"/v1/{kind}/{segment(name)}")


def _names(client: AdminClient, kind: str) -> list[str]:
    return [one[_NAMED[kind]] for one in client.pages(f"/v1/{kind}", kind)]


def _delete(client: AdminClient, path: str) -> None:
    """Delete what may be gone already."""
    try:
        client.send("DELETE", path)
    except AdminApiError as error:
        if error.status != 404:
            raise
