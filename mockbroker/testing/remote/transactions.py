"""A transactional id over the admin API."""

from __future__ import annotations

from mockbroker.admin.client import AdminClient, segment
from mockbroker.state.transactions import FORGET_TIMEOUT_MS, Transaction
from mockbroker.testing.bridge import WaitTimeoutError
from mockbroker.testing.remote.refusals import refused_as
from mockbroker.testing.transaction_view import TransactionView

__tracebackhide__ = True


class RemoteTransactionView(TransactionView[AdminClient]):
    """A transactional id of a broker elsewhere."""

    @property
    def _path(self) -> str:
        return f"/v1/transactions/{segment(self.transactional_id)}"

    def _find(self, source: AdminClient) -> Transaction | None:
        found = source.find(self._path)
        if found is None:
            return None
        partitions = [(one["topic"], one["partition"]) for one in found["partitions"]]
        return Transaction(**{**found, "partitions": partitions})

    def _transactional_ids(self, source: AdminClient) -> list[str]:
        return transactional_ids(source)

    def _forget(self) -> None:
        def forget(client: AdminClient) -> None:
            if client.find(self._path) is not None:
                with refused_as(WaitTimeoutError):
                    client.send("DELETE", self._path, wait_seconds=FORGET_TIMEOUT_MS / 1000)

        return self._bridge.call(forget)


def transactional_ids(client: AdminClient) -> list[str]:
    """The transactional ids that there are, in order."""
    return [one["transactional_id"] for one in client.pages("/v1/transactions", "transactions")]
