"""What a test sees of a running broker and does to it, whoever started it: the views and verbs.

`mock_broker.MockBroker` is one with a start and a stop; `aio.AsyncBroker` has the same verbs for
coroutines. Each verb ends with one call of the bridge, and returns what that gives.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from mockbroker.testing.bridge import NOT_RUNNING, for_caller

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from os import PathLike

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.metadata.delegation_tokens import DelegationToken
    from mockbroker.server.launch import RunningBroker
    from mockbroker.state.snapshot import Snapshot
    from mockbroker.state.verdict import Verdict
    from mockbroker.telemetry.client_metrics import PushedMetrics
    from mockbroker.testing.bridge import AsyncBridge, Bridge
    from mockbroker.testing.clock_view import ClockView
    from mockbroker.testing.cluster_view import ClusterView
    from mockbroker.testing.faults_view import FaultsView
    from mockbroker.testing.group_view import GroupView
    from mockbroker.testing.journal_view import JournalView
    from mockbroker.testing.metadata_log_view import MetadataLogView
    from mockbroker.testing.topic_view import TopicView
    from mockbroker.testing.transaction_view import TransactionView

__tracebackhide__ = True


class BrokerAddresses:
    """Where one broker is, as its bridge has it; RuntimeError while there is none."""

    def __init__(self, bridge: Bridge | None = None) -> None:
        self._bridge = bridge

    def __repr__(self) -> str:
        where = "not running" if self._bridge is None else self.bootstrap_servers
        return f"<{type(self).__name__} {where}>"

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

    def _bridged(self) -> Bridge:
        if self._bridge is None:
            raise RuntimeError(NOT_RUNNING)
        return self._bridge

    def _started(self) -> RunningBroker:
        return self._bridged().running


class BrokerViews(BrokerAddresses):
    """The verbs of one broker over its bridge; RuntimeError from each while there is none."""

    def metrics(self) -> dict[str, float]:
        """What the broker counts, value by name, from any thread.

        Names are those of Kafka's MBeans where Kafka has the metric; its meters are counts here.
        """
        bridge = self._bridged()
        return bridge.call(lambda _: bridge.running.metrics())

    def client_metrics(self) -> list[PushedMetrics]:
        """What clients pushed of their own metrics (KIP-714), oldest first; the last 1,000 a node.

        With `client_telemetry=True` a client pushes what a CLIENT_METRICS resource asks it for;
        `metrics` are OTLP bytes.
        """
        from mockbroker.state.telemetry import pushed_metrics

        return self._bridged().call(pushed_metrics)

    @property
    def cluster(self) -> ClusterView[Any]:
        """The brokers: kill and revive them, move leaders, hold followers, cut links."""
        from mockbroker.testing.cluster_view import LocalClusterView

        return LocalClusterView(self._bridged())

    # -- see and await ---------------------------------------------------------------------

    def topic(self, name: str) -> TopicView[Any]:
        """One topic, which need not exist yet: its records, now or awaited, and what changes it."""
        from mockbroker.testing.topic_view import ClusterTopicView

        return ClusterTopicView(self._bridged(), name)

    def topics(self) -> list[str]:
        """The names of the topics, without those of the coordinators."""
        from mockbroker.state.partitions import topic_names

        return self._bridged().call(topic_names)

    def group(self, group_id: str) -> GroupView[Any]:
        """One consumer group, which need not exist yet: members, commits, lag, awaited or now."""
        from mockbroker.testing.group_view import ClusterGroupView

        return ClusterGroupView(self._bridged(), group_id)

    def groups(self) -> list[str]:
        """The ids of the groups."""
        from mockbroker.state.groups import group_ids

        return self._bridged().call(group_ids)

    def transaction(self, transactional_id: str) -> TransactionView[Any]:
        """One transactional id, which need not exist yet: its latest transaction, or its end."""
        from mockbroker.testing.transaction_view import ClusterTransactionView

        return ClusterTransactionView(self._bridged(), transactional_id)

    def transactions(self) -> list[str]:
        """The transactional ids."""
        from mockbroker.state.transactions import transactional_ids

        return self._bridged().call(transactional_ids)

    # -- delegation tokens -----------------------------------------------------------------

    def delegation_token(
        self,
        owner: str = "client",
        *,
        renewers: Sequence[str] = (),
        lifetime_ms: int | None = None,
    ) -> DelegationToken:
        """A new delegation token (KIP-48), for `client_config(delegation_token=…)`.

        `owner` and `renewers` are users. It ends after `lifetime_ms` of the broker's clock, or as
        `delegation.token.expiry.time.ms` says. Raises ValueError, as where the broker has no
        `delegation.token.secret.key`.
        """
        from mockbroker.state.delegation_tokens import NewToken, make

        wanted = NewToken(owner, renewers, lifetime_ms)
        return self._bridged().call(lambda cluster: make(cluster, wanted))

    def delegation_tokens(self, owner: str | None = None) -> list[DelegationToken]:
        """The delegation tokens that there are, by id, without their HMACs."""
        from mockbroker.state.delegation_tokens import listed

        return self._bridged().call(lambda cluster: listed(cluster, owner))

    def expire_delegation_token(self, token_id: str, *, after_ms: int | None = None) -> None:
        """Let a delegation token end now, or after so many ms of the broker's clock.

        Raises ValueError where there is none of that id, or it has expired.
        """
        from mockbroker.state.delegation_tokens import expire

        return self._bridged().call(lambda cluster: expire(cluster, token_id, after_ms))

    # -- clean up --------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[Self]:
        """Make at the end all as it was: records, offsets, configs, brokers, links, faults, clock.

        It costs what was touched inside. Clients stay connected and are told what changed, as
        Kafka tells it; `left_over` says what did not come back. Raises VerificationError (see
        `verify`) unless the body raised something itself.
        """
        bridge = self._bridged()
        end = bridge.call(scope_begin(bridge))
        spared = bridge.call(fault_ids)
        found = None
        try:
            yield self
            found = self.verdict(spared=spared)
        finally:
            # What clients sent before they were closed is read between two turns of the loop: a
            # Metadata request that came later would make its topic anew.
            bridge.call(lambda _: None)
            bridge.call(end)
            if found is None:  # its error is the one to tell
                self.verdict(spared=spared)
        found.check()

    def verdict(self, *, strict: bool | None = None, spared: Collection[str] = ()) -> Verdict:
        """What should fail a test: fault rules that never fired, and refused requests, each once.

        Requests that the broker refused, which are broken, unknown or of a version that it does
        not advertise, count with `strict` (None: as the broker was started). Rules of the ids
        `spared` may still fire.
        """
        from mockbroker.state.verdict import verdict

        bridge = self._bridged()
        since = bridge.journal_since
        wanted = bridge.running.strict if strict is None else strict
        return bridge.call(
            lambda cluster: verdict(cluster, since=since, strict=wanted, spared=spared)
        )

    def report(self, lines: int = 20) -> str:
        """What the broker knows, for a test that failed: requests, rules, topics and groups.

        The pytest plugin puts it into the test's report. Times are ms since the test (its `scope`)
        began, without what `clock.advance` passed over.
        """
        from mockbroker.state.report import report

        bridge = self._bridged()
        since = bridge.journal_since
        return bridge.call(lambda cluster: report(cluster, since, lines))

    def verify(self, *, strict: bool | None = None) -> None:
        """Raise VerificationError when there is something in the `verdict`.

        The pytest plugin does so after each test, `scope` and `with MockBroker(…)` at their end.
        """
        from mockbroker.state.verdict import verdict

        bridge = self._bridged()
        since = bridge.journal_since
        wanted = bridge.running.strict if strict is None else strict
        return bridge.call(lambda cluster: verdict(cluster, since=since, strict=wanted).check())

    def reset(self) -> None:
        """Make all as it was when the broker had started, the clock too; open scopes end.

        Clients stay connected and are told what changed.
        """
        bridge = self._bridged()

        def reset(cluster: Cluster) -> None:
            bridge.running.reset()
            bridge.journal_since = cluster.journal.cursor()

        return bridge.call(reset)

    @property
    def left_over(self) -> tuple[str, ...]:
        """What the end of the last scope, or a reset, could not take back; as a rule nothing."""
        bridge = self._bridged()
        return bridge.call(lambda _: bridge.running.scopes.left_over)

    @property
    def journal(self) -> JournalView:
        """The requests that were served, also awaited: `journal.expect(api="Fetch").within(5)`.

        Inside a `scope` those since it began.
        """
        from mockbroker.testing.journal_view import JournalView

        bridge = self._bridged()
        return JournalView(bridge, bridge.journal_since)

    @property
    def faults(self) -> FaultsView:
        """The fault rules: add, remove, list, clear, release."""
        from mockbroker.testing.faults_view import FaultsView

        return FaultsView(self._bridged())

    @property
    def clock(self) -> ClockView[Any]:
        """The broker's time: freeze it, let it run faster, move it on or its wall time about."""
        from mockbroker.testing.clock_view import LocalClockView

        return LocalClockView(self._bridged())

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

        def take_and_save(cluster: Cluster) -> Snapshot:
            snapshot = take(cluster)
            if path is not None:
                from mockbroker.state.snapshot_file import save

                save(snapshot, str(path))
            return snapshot

        return self._bridged().call(take_and_save)

    def restore(self, snapshot: Snapshot | str | PathLike[str]) -> None:
        """Keep what `snapshot`, or the file of that name, has, and nothing else.

        Clients stay connected and are told what changed, as after a topic was made anew or a log
        truncated. Raises SnapshotError for a bad file, and then changes nothing.
        """
        from mockbroker.state.snapshot import Snapshot, restore

        if not isinstance(snapshot, Snapshot):
            from mockbroker.state.snapshot_file import SnapshotError, load

            try:
                snapshot = load(str(snapshot))
            except SnapshotError as error:
                raise for_caller(error) from error.__cause__
        wanted = snapshot
        return self._bridged().call(lambda cluster: restore(cluster, wanted))


def scope_begin(
    bridge: Bridge | AsyncBridge,
) -> Callable[[Cluster], Callable[[Cluster], None]]:
    """What begins a scope; the step returns what ends it."""

    def begin(cluster: Cluster) -> Callable[[Cluster], None]:
        scopes = bridge.running.scopes
        scope = scopes.begin()
        outer, bridge.journal_since = bridge.journal_since, cluster.journal.cursor()

        def end(_cluster: Cluster) -> None:
            bridge.journal_since = outer
            scopes.end(scope)

        return end

    return begin


def fault_ids(cluster: Cluster) -> frozenset[str]:
    """The ids of the rules that are armed now."""
    return frozenset(one.id for one in cluster.faults.list()) if cluster.has_faults else frozenset()
