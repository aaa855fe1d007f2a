"""A Kafka cluster with the verbs of `MockBroker` that it can do: what `Kafka.connect` returns."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self, cast

from mockbroker.testing.broker_views import BrokerViews
from mockbroker.testing.client_config import ClientConfigs, Entrance
from mockbroker.testing.elsewhere import AsyncElsewhere, Elsewhere
from mockbroker.testing.kafka.client import KafkaClient, names_with
from mockbroker.testing.kafka.entrance import KafkaEntrance
from mockbroker.testing.kafka.groups import KafkaGroupView
from mockbroker.testing.kafka.topics import KafkaTopicView
from mockbroker.testing.not_supported import NotSupported, Refusal
from mockbroker.testing.polling import AsyncPollingBridge, PollingBridge

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from os import PathLike

    from mockbroker.metadata.delegation_tokens import DelegationToken
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

_PAUSES_SECONDS: Final = (0.02, 0.2)
_WHY: Final = (
    "this is a Kafka cluster, reached by Kafka's protocol alone; mark the test with"
    " mockbroker_needs({need!r}), and it is skipped here"
)

_NO_TRANSACTIONS: Final = (
    "confluent-kafka's AdminClient has neither ListTransactions nor DescribeTransactions; mark the"
    " test with mockbroker_needs('transactions'), and it is skipped here"
)


class _NoDelegationTokens(BrokerViews):
    """Its client has no API for them."""

    def delegation_token(
        self,
        owner: str = "client",
        *,
        renewers: Sequence[str] = (),
        lifetime_ms: int | None = None,
    ) -> DelegationToken:
        _refuse("delegation_token")

    def delegation_tokens(self, owner: str | None = None) -> list[DelegationToken]:
        _refuse("delegation_tokens")

    def expire_delegation_token(self, token_id: str, *, after_ms: int | None = None) -> None:
        _refuse("expire_delegation_token")


class KafkaViews(_NoDelegationTokens):
    """The verbs of a Kafka cluster over its bridge; NotSupported from those that it has not."""

    def __init__(self, caller: PollingBridge[KafkaClient], bootstrap_servers: str) -> None:
        super().__init__(cast("Bridge", caller))
        self._caller = caller
        self._servers = bootstrap_servers

    @property
    def bootstrap_servers(self) -> str:
        return self._servers

    @property
    def host(self) -> str:
        return self._servers.partition(",")[0].rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self._servers.partition(",")[0].rpartition(":")[2])

    @property
    def controller_servers(self) -> str | None:
        return None

    @property
    def admin_url(self) -> str | None:
        return None

    @property
    def cluster_id(self) -> str:
        return self._caller.call(lambda client: client.cluster_id)

    def topic(self, name: str) -> TopicView[Any]:
        return KafkaTopicView(self._caller, name)

    def topics(self) -> list[str]:
        return self._caller.call(lambda client: list(client.topics()))

    def group(self, group_id: str) -> GroupView[Any]:
        return KafkaGroupView(self._caller, group_id)

    def groups(self) -> list[str]:
        return self._caller.call(lambda client: client.groups())

    @contextmanager
    def scope(self, prefix: str | None = None) -> Iterator[Self]:
        """Delete at the end the topics and groups that were made inside, and begin with `prefix`.

        Without a prefix all that were made meanwhile, by whomever. A group that still has members
        stays.
        """
        client = self._caller.source
        topics, groups = set(client.topics()), set(client.groups())
        try:
            yield self
        finally:
            doomed = names_with(prefix, client.groups(), groups)
            idle = [one for one in doomed if not client.describe_group(one).members]
            if idle:
                client.delete_groups(idle)
            for name in names_with(prefix, client.topics(), topics):
                client.delete_topic(name)

    # -- what only the fake can do: the parameters are those of `BrokerViews` ------------------

    def transaction(self, transactional_id: str) -> TransactionView[Any]:
        return cast("TransactionView[Any]", Refusal("transaction", _NO_TRANSACTIONS))

    def transactions(self) -> list[str]:
        raise NotSupported("transactions", _NO_TRANSACTIONS)

    @property
    def cluster(self) -> ClusterView[Any]:
        return cast("ClusterView[Any]", _refusal("cluster"))

    @property
    def journal(self) -> JournalView:
        return cast("JournalView", _refusal("journal"))

    @property
    def faults(self) -> FaultsView:
        return cast("FaultsView", _refusal("faults"))

    @property
    def clock(self) -> ClockView[Any]:
        return cast("ClockView[Any]", _refusal("clock"))

    @property
    def metadata_log(self) -> MetadataLogView:
        return cast("MetadataLogView", _refusal("metadata_log"))

    def metrics(self) -> dict[str, float]:
        _refuse("metrics")

    def client_metrics(self) -> list[PushedMetrics]:
        _refuse("client_metrics")

    def verdict(self, *, strict: bool | None = None, spared: Collection[str] = ()) -> Verdict:
        _refuse("verdict")

    def verify(self, *, strict: bool | None = None) -> None:
        _refuse("verify")

    def report(self, lines: int = 20) -> str:
        _refuse("report")

    def reset(self) -> None:
        _refuse("reset")

    @property
    def left_over(self) -> tuple[str, ...]:
        _refuse("left_over")

    def snapshot(self, path: str | PathLike[str] | None = None) -> Snapshot:
        _refuse("snapshot")

    def restore(self, snapshot: Snapshot | str | PathLike[str]) -> None:
        _refuse("restore")


class Kafka(Elsewhere, ClientConfigs, KafkaViews):
    """A Kafka cluster: `Kafka.connect("host:9092")`."""

    def __init__(self, bootstrap_servers: str, config: Mapping[str, object]) -> None:
        client = KafkaClient(bootstrap_servers, config)
        self._config = config
        super().__init__(PollingBridge(client, _PAUSES_SECONDS), bootstrap_servers)

    @classmethod
    def connect(cls, bootstrap_servers: str, *, config: Mapping[str, object] | None = None) -> Self:
        """The cluster at HOST:PORT, or several separated by commas.

        `config` are further properties of librdkafka, under Kafka's names: `security.protocol`,
        `sasl.mechanism`, `sasl.username`, `ssl.ca.location`, … Raises ConnectionError when nobody
        answers, NotSupported without confluent-kafka (extra `kafka`). Topics, records and groups
        are as with `MockBroker`; what only the fake has raises NotSupported.
        """
        return cls(bootstrap_servers, config or {})

    def _entrance(self) -> Entrance:
        return KafkaEntrance(self._servers, self._config)

    @property
    def aio(self) -> AsyncBroker:
        """The same verbs as coroutines: `await broker.aio.topic("orders").wait_for(1)`."""
        caller = cast("PollingBridge[KafkaClient]", AsyncPollingBridge(self._caller))
        return AsyncElsewhere(self, KafkaViews(caller, self._servers))


def _refusal(name: str) -> Refusal:
    return Refusal(name, _WHY.format(need=name))


def _refuse(name: str) -> NoReturn:
    raise NotSupported(name, _WHY.format(need=_NEEDS.get(name, name)))


_NEEDS: Final = {
    "verdict": "faults",
    "verify": "faults",
    "report": "journal",
    "left_over": "reset",
    "snapshot": "snapshots",
    "restore": "snapshots",
    "delegation_token": "delegation_tokens",
    "expire_delegation_token": "delegation_tokens",
}
