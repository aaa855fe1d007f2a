"""What a cluster of three costs: until it is ready, while it is idle, and for each write.

    scripts/bench/replication [--writes N] [--idle SECONDS] [--records N]

Ready: a process with three brokers, from its start to its ready line, in milliseconds of wall
time. Idle: processor time of such a process with a topic of 50 partitions on three replicas, in
percent of one core. Write: processor time of the core alone for a produce of one batch with
acks=all, in microseconds, on one replica and on three, in-process and without sockets. A lone
producer pays for each write's four follower fetches (two for the records, two that learn of the
high watermark); producers that write at the same time share them. Client: processor time of the
whole server process while one confluent-kafka producer, with acks=all and its own defaults else,
sends records of 100 bytes to 6 partitions, in microseconds a record, and the time that it took.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import confluent_kafka

from mockbroker.cluster.cluster import Cluster
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.plan import encode
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record

EPOCH_MS = 1_700_000_000_000
PRODUCE = 0
VERSION = 9
CLIENT = 1
RECORDS = 100
PRODUCERS = (1, 4, 16, 64)
VALUE_BYTES = 100
CLIENT_ROUNDS = 5


def serve(*arguments: str) -> tuple[subprocess.Popen[str], float, str]:
    """A server process, the milliseconds until it was ready, and where it listens."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "mockbroker", "serve", "--port", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"ready bootstrap=(\S+)", line)
        if found:
            return process, (time.perf_counter() - started) * 1000.0, found[1]
    raise SystemExit("the server ended before it was ready")


def stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.communicate()


def ready_ms(runs: int) -> float:
    times = []
    for _ in range(runs):
        process, milliseconds, _ = serve("--brokers", "3")
        stop(process)
        times.append(milliseconds)
    return statistics.median(times)


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle_percent(seconds: float) -> float:
    process, _, _ = serve("--brokers", "3", "--topic", "t:50", "--log-level", "error")
    try:
        time.sleep(2.0)
        before = processor_seconds(process.pid)
        time.sleep(seconds)
        return (processor_seconds(process.pid) - before) / seconds * 100.0
    finally:
        stop(process)


def produce_frame() -> bytes:
    records = [Record(at, EPOCH_MS, None, b"v" * VALUE_BYTES) for at in range(RECORDS)]
    partition = ProduceRequestPartition(index=0, records=build_batch(records))
    topic = ProduceRequestTopic(name="t", partition_data=[partition])
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])
    header = encode_request_header(PRODUCE, VERSION, 1, "bench")
    body = bytes(header) + b"".join(encode(request, VERSION))
    return len(body).to_bytes(4, "big") + body


def write_us(brokers: int, writes: int, producers: int) -> float:
    """Processor time of one produce, answered, while `producers` have one each under way."""
    cluster = Cluster({}, {"t": 1}, substream=Random, epoch_ms=EPOCH_MS, brokers=brokers)
    node_id = cluster.metadata.topics["t"].partitions[0].leader
    broker = cluster.broker(node_id)
    assert broker is not None
    position = [each.broker_id for each in cluster.brokers].index(node_id)
    clients = range(CLIENT, CLIENT + producers)
    for client in clients:
        broker.connect(client, "/127.0.0.1", 0.0, local_address=("127.0.0.1", 9092))
    frame = produce_frame()
    now_ms = 0.0
    best = float("inf")
    rounds = writes // producers
    for _ in range(5):
        started = time.process_time()
        for _ in range(rounds):
            now_ms += 0.01
            for client in clients:
                broker.receive_buffer(client, len(frame))[: len(frame)] = frame
                broker.arrived(client, len(frame))
            broker.run(now_ms)
            cluster.drain(now_ms)
            answers = cluster.take_outbox(position)
            assert len(answers) == producers, "not answered at once"
        best = min(best, (time.process_time() - started) / (rounds * producers) * 1e6)
    written = broker.services.replicas.partition("t", 0)
    assert written is not None
    assert written.high_watermark == 5 * rounds * producers * RECORDS, "refused"
    return best


def client_costs(brokers: int, records: int) -> tuple[float, float]:
    """Server's processor time in us a record, and seconds, for one producer; medians of rounds."""
    process, _, servers = serve("--brokers", str(brokers), "--topic", "t:6", "--log-level", "error")
    try:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": servers, "acks": "all", "log_level": 0}
        )
        refused: list[object] = []

        def delivered(error: object, _: object) -> None:
            if error is not None:
                refused.append(error)

        value = b"v" * VALUE_BYTES
        costs, times = [], []
        for _ in range(CLIENT_ROUNDS):
            before, started = processor_seconds(process.pid), time.perf_counter()
            for number in range(records):
                while True:
                    try:
                        producer.produce("t", value, str(number), on_delivery=delivered)
                        break
                    except BufferError:
                        producer.poll(0.1)
                if not number % 1000:
                    producer.poll(0)
            left = producer.flush(60)
            assert not left, f"{left} records were not answered"
            assert not refused, refused[0]
            times.append(time.perf_counter() - started)
            costs.append((processor_seconds(process.pid) - before) / records * 1e6)
        return statistics.median(costs), statistics.median(times)
    finally:
        stop(process)


def collect_as_a_server() -> None:
    """Let Python look for garbage as rarely as `mockbroker serve` does (`app`)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writes", type=int, default=2000)
    parser.add_argument("--idle", type=float, default=10.0)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--records", type=int, default=200_000, help="of a client's round")
    arguments = parser.parse_args()
    collect_as_a_server()
    rows = [
        (
            producers,
            write_us(1, arguments.writes, producers),
            write_us(3, arguments.writes, producers),
        )
        for producers in PRODUCERS
    ]
    print(f"three brokers ready             {ready_ms(arguments.starts):8.0f} ms   (under 250)")
    print(f"three brokers idle              {idle_percent(arguments.idle):8.2f} %    (under 1)")
    print("\nproduce with acks=all: us of processor time in the core for each write")
    print("producers at once   1 replica   3 replicas   ratio")
    for producers, one, three in rows:
        print(f"{producers:17} {one:11.1f} {three:12.1f} {three / one:6.2f}x")

    (cost_1, time_1), (cost_3, time_3) = (client_costs(n, arguments.records) for n in (1, 3))
    print(f"\none confluent-kafka producer, acks=all, {arguments.records:,} records of 100 bytes")
    print("                    1 replica   3 replicas   ratio")
    print(f"server, us a record {cost_1:9.2f} {cost_3:12.2f} {cost_3 / cost_1:6.2f}x")
    print(f"seconds             {time_1:9.2f} {time_3:12.2f} {time_3 / time_1:6.2f}x")


if __name__ == "__main__":
    main()
