"""Transactions by transactional id: list, look at, abort and forget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel

from mockbroker.admin.deps import Cursor, Limit, Prefix, TheHost
from mockbroker.admin.paging import page_of
from mockbroker.admin.problems import ApiError, problems
from mockbroker.admin.waiting import wait_until
from mockbroker.state import transactions

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster

router = APIRouter(tags=["transactions"])

TransactionalId = Annotated[str, Path(max_length=32_767)]


class PartitionRef(BaseModel):
    """A partition."""

    topic: str
    partition: int


class TransactionOut(BaseModel):
    """One transactional id and its latest transaction."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int
    partitions: list[PartitionRef]


class TransactionPage(BaseModel):
    """A page of transactional ids."""

    transactions: list[TransactionOut]
    next_cursor: str | None


@router.get("/transactions")
async def list_transactions(
    host: TheHost, prefix: Prefix = None, limit: Limit = 100, cursor: Cursor = None
) -> TransactionPage:
    """List transactional ids with their state."""

    def look(cluster: Cluster) -> TransactionPage:
        ids = transactions.transactional_ids(cluster)
        page, following = page_of(ids, cursor, limit, prefix)
        found = [_out(cluster, one) for one in page]
        return TransactionPage(transactions=found, next_cursor=following)

    return host.act(look)


@router.get("/transactions/{transactional_id:name}", responses=problems(404))
async def get_transaction(host: TheHost, transactional_id: TransactionalId) -> TransactionOut:
    """One transactional id."""
    return host.act(lambda cluster: _out(cluster, transactional_id))


@router.delete(
    "/transactions/{transactional_id:name}", status_code=204, responses=problems(404, 409)
)
async def forget_transaction(host: TheHost, transactional_id: TransactionalId) -> None:
    """Abort what is open and forget the id: its producer is fenced. 409 when that cannot end."""

    def forget(cluster: Cluster) -> bool:
        return transactions.forget(cluster, transactional_id)

    if not host.act(forget):
        raise _unknown(transactional_id)
    ended = await wait_until(
        host,
        lambda cluster: transactions.may_be_forgotten(cluster, transactional_id),
        lambda cluster: transactions.why_not_forgotten(cluster, transactional_id),
        transactions.FORGET_TIMEOUT_MS,
    )
    if not ended.met:
        raise ApiError(409, str(ended.explanation), "transactional_id")
    host.act(forget)


def _out(cluster: Cluster, transactional_id: str) -> TransactionOut:
    found = transactions.transaction(cluster, transactional_id)
    if found is None:
        raise _unknown(transactional_id)
    return TransactionOut(
        **{
            **found._asdict(),
            "partitions": [PartitionRef(topic=t, partition=p) for t, p in found.partitions],
        }
    )


def _unknown(transactional_id: str) -> ApiError:
    detail = f"there is no transactional id {transactional_id!r}"
    return ApiError(404, detail, "transactional_id")
