"""An API that keeps a count of what was sold, which it reads from a topic."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from fastapi import FastAPI, Request


def create_app(bootstrap_servers: str) -> FastAPI:
    sold: Counter[str] = Counter()

    async def count_sales(consumer: AIOKafkaConsumer) -> None:
        async for message in consumer:
            sale = json.loads(message.value)
            sold[sale["article"]] += sale["count"]
            await consumer.commit()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        consumer = AIOKafkaConsumer(
            "sales",
            bootstrap_servers=bootstrap_servers,
            group_id="counter",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        async with consumer, AIOKafkaProducer(bootstrap_servers=bootstrap_servers) as producer:
            app.state.producer = producer
            counting = asyncio.create_task(count_sales(consumer))
            yield
            counting.cancel()

    app = FastAPI(lifespan=lifespan)

    @app.get("/sold/{article}")
    async def count_of(article: str) -> int:
        return sold[article]

    @app.post("/returns/{article}", status_code=202)
    async def give_back(article: str, request: Request) -> None:
        event = json.dumps({"article": article, "count": -1}).encode()
        await request.app.state.producer.send_and_wait("sales", event, key=article.encode())

    return app
