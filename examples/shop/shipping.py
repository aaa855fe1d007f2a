"""Ships what was paid: with aiokafka."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Self

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

if TYPE_CHECKING:
    from types import TracebackType

    from names import Names


class Shipping:
    """Ships each approved payment, each order once."""

    def __init__(self, bootstrap_servers: str, names: Names) -> None:
        self._names = names
        self._shipped: set[str] = set()
        self._producer = AIOKafkaProducer(bootstrap_servers=bootstrap_servers, acks="all")
        self._consumer = AIOKafkaConsumer(
            names.payments,
            bootstrap_servers=bootstrap_servers,
            group_id=names.group("shipping"),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            metadata_max_age_ms=500,
        )

    async def __aenter__(self) -> Self:
        await self._producer.start()
        await self._consumer.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._consumer.stop()
        await self._producer.stop()

    async def work(self, count: int, seconds: float = 30.0) -> int:
        """Handle so many payments, or as many as come in this time; returns how many came."""
        handled = 0
        try:
            async with asyncio.timeout(seconds):
                while handled < count:
                    payment = await self._consumer.getone()
                    await self._handle(json.loads(payment.value))
                    await self._consumer.commit()
                    handled += 1
        except TimeoutError:
            pass
        return handled

    async def _handle(self, payment: dict[str, object]) -> None:
        order = str(payment["order"])
        if payment["approved"] and order not in self._shipped:
            self._shipped.add(order)
            await self._producer.send_and_wait(
                self._names.shipments, json.dumps({"order": order}).encode(), key=order.encode()
            )
