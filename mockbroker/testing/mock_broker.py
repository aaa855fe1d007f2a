"""The Python API: a broker inside the test's own process.

`with MockBroker(topics={"orders": 6}) as broker:` runs it in a thread of its own, so blocking
clients may be used beside it; `async with MockBroker(...)` runs it in the caller's event loop.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from mockbroker.server.launch import launch
from mockbroker.server.settings import Settings
from mockbroker.testing.bridge import NOT_RUNNING, Bridge
from mockbroker.testing.broker_thread import BrokerThread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike
    from types import TracebackType
    from typing import Unpack

    from mockbroker.server.launch import RunningBroker
    from mockbroker.server.options import BrokerOptions
    from mockbroker.state.snapshot import Snapshot
    from mockbroker.telemetry.client_metrics import PushedMetrics
    from mockbroker.testing.aio import AsyncViews
    from mockbroker.testing.clock_view import ClockView
    from mockbroker.testing.cluster_view import ClusterView
    from mockbroker.testing.faults_view import FaultsView
    from mockbroker.testing.group_view import GroupView
    from mockbroker.testing.journal_view import JournalView
    from mockbroker.testing.metadata_log_view import MetadataLogView
    from mockbroker.testing.topic_view import TopicView


class MockBroker:
    """A fake Kafka broker for tests.

    Its keyword arguments are those of `BrokerOptions`, each as docs/options.md has it. `topics`
    maps a name to its partitions or to a table as in the configuration file (`{"partitions": 3,
    "config": {…}, "records": […]}`), or lists names; `config` holds broker configs under Kafka's
    names; `port` 0 takes any free port; `brokers` is how many there are (see `cluster`), on ports
    from `port` on or on a list of them, in `racks`; `seed` makes random ids repeatable;
    `freeze_clock` starts with a time that stands still (see `clock`); `faults` are armed from the
    start (see `faults`). Raises SettingsError, ConfigError or FaultError for a bad value, OSError
    when the address cannot be bound.
    """

    def __init__(self, **options: Unpack[BrokerOptions]) -> None:
        self._settings = Settings(**options)
        self._bridge: Bridge | None = None
        self._thread: BrokerThread | None = None
        self._journal_since = 0

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT for a client's `bootstrap.servers`."""
        return self._started().bootstrap_servers

    @property
    def host(self) -> str:
        """The address that the broker listens on."""
        return self._started().host

    @property
    def port(self) -> int:
        """The port that the broker listens on."""
        return self._started().port

    @property
    def controller_servers(self) -> str | None:
        """HOST:PORT for `controller.quorum.bootstrap.servers`; None without a controller_port."""
        return self._started().controller_servers

    @property
    def admin_url(self) -> str | None:
        """Where the admin HTTP API is; None without an `admin_port`."""
        return self._started().admin_url

    @property
    def cluster_id(self) -> str:
        """The cluster's id."""
        return self._started().cluster_id

    def metrics(self) -> dict[str, float]:
        """What the broker counts, value by name, from any thread.

        Names are those of Kafka's MBeans where Kafka has the metric; its meters are counts here.
        """
        bridge = self._bridged()
        return bridge.call(lambda _: bridge.running.metrics())

    def client_metrics(self) -> list[PushedMetrics]:
        """What clients pushed of their own metrics (KIP-714), oldest first; the last 1,000 a node.

        A client pushes what a CLIENT_METRICS resource asks it for; `metrics` are OTLP bytes.
        """
        from mockbroker.state.telemetry import pushed_metrics

        return self._bridged().call(pushed_metrics)

    @property
    def cluster(self) -> ClusterView:
        """The brokers: kill and revive them, move leaders, hold followers, cut links."""
        from mockbroker.testing.cluster_view import ClusterView

        return ClusterView(self._bridged())

    # -- see and await ---------------------------------------------------------------------

    def topic(self, name: str) -> TopicView:
        """One topic, which need not exist yet: its records, now or awaited, and what changes it."""
        from mockbroker.testing.topic_view import TopicView

        return TopicView(self._bridged(), name)

    def topics(self) -> list[str]:
        """The names of the topics, without those of the coordinators."""
        from mockbroker.state.partitions import topic_names

        return self._bridged().call(topic_names)

    def group(self, group_id: str) -> GroupView:
        """One consumer group, which need not exist yet: members, commits, lag, awaited or now."""
        from mockbroker.testing.group_view import GroupView

        return GroupView(self._bridged(), group_id)

    def groups(self) -> list[str]:
        """The ids of the groups."""
        from mockbroker.state.groups import group_ids

        return self._bridged().call(group_ids)

    @property
    def aio(self) -> AsyncViews:
        """The same views for coroutines: `await broker.aio.topic("orders").wait_for(1)`."""
        from mockbroker.testing.aio import AsyncViews

        return AsyncViews(self._bridged(), self._journal_since)

    # -- clean up --------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[Self]:
        """Take away at the end what was made inside.

        Topics, groups, transactional ids and fault rules; the clock runs (or stands) as before.
        What else was there before stays as the body left it; see `snapshot` for that.
        """
        from mockbroker.state.cleaning import delete_since, holdings

        bridge = self._bridged()
        before = bridge.call(holdings)
        pace = bridge.running.timekeeper.pace
        outer, self._journal_since = self._journal_since, self.journal.cursor()
        try:
            yield self
        finally:
            self._journal_since = outer
            bridge.call(lambda cluster: delete_since(cluster, before))
            bridge.call(lambda _: bridge.running.timekeeper.set_pace(pace))

    def reset(self) -> None:
        """Keep nothing but what the broker was started with: topics, configs and faults.

        Clients stay connected; their topics are made anew, their groups are gone. Time passes, or
        stands still, as at the start.
        """
        bridge = self._bridged()
        bridge.call(lambda _: bridge.running.reset())
        self._journal_since = self.journal.cursor()

    @property
    def journal(self) -> JournalView:
        """The requests that were served, also awaited: `journal.expect(api="Fetch").within(5)`.

        Inside a `scope` those since it began.
        """
        from mockbroker.testing.journal_view import JournalView

        return JournalView(self._bridged(), self._journal_since)

    @property
    def faults(self) -> FaultsView:
        """The fault rules: add, remove, list, clear, release."""
        from mockbroker.testing.faults_view import FaultsView

        return FaultsView(self._bridged())

    @property
    def clock(self) -> ClockView:
        """The broker's time: freeze it, let it run faster, move it on or its wall time about."""
        from mockbroker.testing.clock_view import ClockView

        return ClockView(self._bridged())

    # -- the metadata log ------------------------------------------------------------------

    @property
    def metadata_log(self) -> MetadataLogView:
        """The metadata log: hold back its high watermark, begin an epoch; needs controller_port."""
        from mockbroker.testing.metadata_log_view import MetadataLogView

        return MetadataLogView(self._bridged())

    def snapshot(self, path: str | PathLike[str] | None = None) -> Snapshot:
        """All that the broker keeps now; with `path`, written to that file too.

        Topics, logs, configs, groups' offsets, producers and transactions; not connections, faults
        or the clock. Raises SnapshotError when the file cannot be written.
        """
        from mockbroker.state.snapshot import take

        snapshot = self._bridged().call(take)
        if path is not None:
            from mockbroker.state.snapshot_file import save

            save(snapshot, str(path))
        return snapshot

    def restore(self, snapshot: Snapshot | str | PathLike[str]) -> None:
        """Keep what `snapshot`, or the file of that name, has, and nothing else.

        Clients stay connected and are told what changed, as after a topic was made anew or a log
        truncated. Raises SnapshotError for a bad file, and then changes nothing.
        """
        from mockbroker.state.snapshot import Snapshot, restore

        if not isinstance(snapshot, Snapshot):
            from mockbroker.state.snapshot_file import load

            snapshot = load(str(snapshot))
        wanted = snapshot
        self._bridged().call(lambda cluster: restore(cluster, wanted))

    def _bridged(self) -> Bridge:
        if self._bridge is None:
            raise RuntimeError(NOT_RUNNING)
        return self._bridge

    def _started(self) -> RunningBroker:
        return self._bridged().running

    # -- start and stop --------------------------------------------------------------------

    def start(self) -> Self:
        """Start in a thread of its own; `stop` ends it. `with` does both."""
        self._refuse_second_start()
        thread = BrokerThread(self._settings)
        self._bridge = Bridge(thread.start())
        self._thread = thread
        return self

    def stop(self) -> None:
        """Stop what `start` started; nothing happens when it was stopped before."""
        thread, self._thread = self._thread, None
        if thread is not None:
            bridge, self._bridge = self._bridge, None
            thread.stop()
            assert bridge is not None
            bridge.close()

    def _refuse_second_start(self) -> None:
        if self._bridge is not None:
            message = "the broker is running already"
            raise RuntimeError(message)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        self._refuse_second_start()
        self._bridge = Bridge(await launch(self._settings))
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        bridge, self._bridge = self._bridge, None
        if bridge is not None:
            await bridge.running.stop()
            bridge.close()
