"""Fetch decode and encode: ours beside kio, aiokafka and kafka-python.

    scripts/bench/codec [--partitions N]

Decodes a Fetch request of N partitions and encodes a response of N partitions with 1 KiB of
records each, in the newest version that each library speaks of 12 (flexible) and 11. Prints
microseconds, the best of several repeats, and ours as a ratio.
"""

from __future__ import annotations

import argparse
import io
import timeit
from typing import TYPE_CHECKING, Any

from mockbroker_protocol.fetch_codec import (
    decode_fetch_request,
    decode_fetch_response,
    encode_fetch_request,
    encode_fetch_response,
)
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from mockbroker_protocol.plan import decoder, encoder

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDS = bytes(1024)


def request_of(partitions: int) -> FetchRequest:
    """A consumer's full fetch."""
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=52428800,
        session_epoch=0,
        topics=[
            FetchRequestTopic(
                topic="orders",
                partitions=[
                    FetchRequestPartition(
                        partition=number, fetch_offset=1000 + number, partition_max_bytes=1048576
                    )
                    for number in range(partitions)
                ],
            )
        ],
    )


def response_of(partitions: int) -> FetchResponse:
    """Its answer, a kilobyte of records a partition."""
    return FetchResponse(
        session_id=7,
        responses=[
            FetchResponseTopic(
                topic="orders",
                partitions=[
                    FetchResponsePartition(
                        partition_index=number,
                        high_watermark=2000,
                        last_stable_offset=2000,
                        log_start_offset=0,
                        records=RECORDS,
                    )
                    for number in range(partitions)
                ],
            )
        ],
    )


def microseconds(work: Callable[[], object]) -> float:
    """The best of seven repeats."""
    timer = timeit.Timer(work)
    count, _ = timer.autorange()
    return min(timer.repeat(7, max(1, count // 4))) / max(1, count // 4) * 1e6


def ours(version: int, partitions: int) -> dict[str, tuple[Callable[[], object], ...]]:
    """Hand-written and planned, (decode a request, encode a response)."""
    body = encode_fetch_request(request_of(partitions), version)
    response = response_of(partitions)
    plan_decode, plan_encode = decoder(FetchRequest, version), encoder(FetchResponse, version)
    return {
        "mockbroker, by hand": (
            lambda: decode_fetch_request(body, 0, version),
            lambda: encode_fetch_response(response, version),
        ),
        "mockbroker, plan": (lambda: plan_decode(body, 0), lambda: plan_encode(response)),
    }


def kio_codec(version: int, partitions: int) -> tuple[Callable[[], object], ...]:
    """kio: what it reads of our bytes, and writes of the answer it read."""
    import importlib

    from kio.serial import entity_reader, entity_writer

    package = f"kio.schema.fetch.v{version}"
    request = importlib.import_module(f"{package}.request").FetchRequest
    response = importlib.import_module(f"{package}.response").FetchResponse
    body = encode_fetch_request(request_of(partitions), version)
    answer = b"".join(encode_fetch_response(response_of(partitions), version))
    read, write = entity_reader(request), entity_writer(response)
    entity, _ = entity_reader(response)(answer, 0)

    def encode() -> bytes:
        buffer = io.BytesIO()
        write(buffer, entity)
        return buffer.getvalue()

    return (lambda: read(body, 0), encode)


def aiokafka_codec(partitions: int) -> tuple[Callable[[], object], ...]:
    """aiokafka, version 11 (it has no flexible Fetch)."""
    from aiokafka.protocol.fetch import FetchRequest_v11, FetchResponse_v11

    body = encode_fetch_request(request_of(partitions), 11)
    answer = b"".join(encode_fetch_response(response_of(partitions), 11))
    struct: Any = FetchResponse_v11.decode(io.BytesIO(answer))
    return (lambda: FetchRequest_v11.decode(io.BytesIO(body)), struct.encode)


def kafka_python_codec(version: int, partitions: int) -> tuple[Callable[[], object], ...]:
    """kafka-python 3."""
    from kafka.protocol.consumer.fetch import FetchRequest as Request
    from kafka.protocol.consumer.fetch import FetchResponse as Response

    body = encode_fetch_request(request_of(partitions), version)
    answer = b"".join(encode_fetch_response(response_of(partitions), version))
    message: Any = Response.decode(io.BytesIO(answer), version=version)
    message._header = None  # noqa: SLF001 -- decode leaves it unset, encode asks for it
    return (
        lambda: Request.decode(io.BytesIO(body), version=version),
        lambda: message.encode(version=version),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--partitions", type=int, default=100, help="partitions (default 100)")
    partitions = parser.parse_args().partitions
    for version in (12, 11):
        answer = b"".join(encode_fetch_response(response_of(1), version))
        assert decode_fetch_response(answer, 0, version).responses
        rows = ours(version, partitions)
        rows["kio"] = kio_codec(version, partitions)
        rows["kafka-python"] = kafka_python_codec(version, partitions)
        if version == 11:
            rows["aiokafka"] = aiokafka_codec(partitions)
        print(f"Fetch v{version}, {partitions} partitions, microseconds")
        print(f"{'':24}{'decode':>10}{'ratio':>8}{'encode':>10}{'ratio':>8}")
        base: tuple[float, float] | None = None
        for name, (decode, encode) in rows.items():
            times = (microseconds(decode), microseconds(encode))
            base = base or times
            print(
                f"{name:24}{times[0]:10.1f}{times[0] / base[0]:8.2f}"
                f"{times[1]:10.1f}{times[1] / base[1]:8.2f}"
            )


if __name__ == "__main__":
    main()
