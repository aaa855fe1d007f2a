"""What a test sees of one transactional id: `broker.transaction("tx")`.

As with groups, a view holds no state and each of its verbs is one call or one wait of the bridge. A
wait ends with the step in which the state was replicated. `TransactionView` has the verbs,
`ClusterTransactionView` how they are done in a broker of this process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from mockbroker.state import transactions
from mockbroker.testing.topic_view import DEFAULT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.state.transactions import Transaction
    from mockbroker.testing.bridge import Bridge, Caller

__tracebackhide__ = True

S = TypeVar("S")


class TransactionView(ABC, Generic[S]):
    """One transactional id and its latest transaction, from any thread."""

    def __init__(self, bridge: Caller[S], transactional_id: str) -> None:
        self._bridge = bridge
        self.transactional_id = transactional_id

    def __repr__(self) -> str:
        return f"TransactionView({self.transactional_id!r})"

    def describe(self) -> Transaction:
        """State, producer id and epoch, time-out and start in ms, partitions; Dead when unknown."""
        return self._bridge.call(self._described)

    @property
    def state(self) -> str:
        """Kafka's word for it: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit,
        CompleteAbort, PrepareEpochFence; Dead when there is no such id.
        """
        return self._bridge.call(lambda source: self._described(source).state)

    def wait_state(self, *states: str, timeout: float = DEFAULT_TIMEOUT_SECONDS) -> Transaction:
        """Wait until its state is one of these; see `state` for the words."""

        def reached(source: S) -> Transaction | None:
            found = self._described(source)
            return found if found.state in states else None

        def instead(source: S) -> str:
            found = self._described(source)
            first = (
                f"waited {timeout:g} s for transactional id {self.transactional_id} to be"
                f" {' or '.join(states)}: it is {found.state}"
            )
            if found.state == transactions.DEAD:
                known = ", ".join(self._transactional_ids(source)) or "none"
                return f"{first}\n  transactional ids: {known}"
            partitions = ", ".join(f"{topic}-{index}" for topic, index in found.partitions)
            return (
                f"{first}, producer {found.producer_id} of epoch {found.producer_epoch},"
                f" partitions: {partitions or 'none'}"
            )

        return self._bridge.wait(reached, timeout, instead)

    def forget(self) -> None:
        """Abort what is open and forget the id, if it is there: its producer is fenced.

        Raises WaitTimeoutError when the abort cannot be replicated.
        """
        return self._forget()

    def _described(self, source: S) -> Transaction:
        found = self._find(source)
        return transactions.unknown(self.transactional_id) if found is None else found

    # -- how it is done where the bridge leads -------------------------------------------------

    @abstractmethod
    def _find(self, source: S) -> Transaction | None:
        """What the coordinator knows of the id; None: nothing."""

    @abstractmethod
    def _transactional_ids(self, source: S) -> list[str]: ...

    @abstractmethod
    def _forget(self) -> None:
        """Forget it, if it is there; one call or wait of the bridge."""


class ClusterTransactionView(TransactionView["Cluster"]):
    """A transactional id of a broker in this process."""

    _bridge: Bridge

    def _find(self, source: Cluster) -> Transaction | None:
        return transactions.transaction(source, self.transactional_id)

    def _transactional_ids(self, source: Cluster) -> list[str]:
        return transactions.transactional_ids(source)

    def _forget(self) -> None:
        def forget(cluster: Cluster) -> None:
            transactions.forget(cluster, self.transactional_id)

        return self._bridge.act_when(
            lambda cluster: transactions.may_be_forgotten(cluster, self.transactional_id),
            forget,
            transactions.FORGET_TIMEOUT_MS / 1000,
            lambda cluster: transactions.why_not_forgotten(cluster, self.transactional_id),
            begin=forget,
        )
