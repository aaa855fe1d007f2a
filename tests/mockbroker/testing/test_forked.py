"""Processes beside a test: forked or spawned, they reach the broker over TCP and nothing else."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker_protocol.messages.produce import ProduceResponse
from tests.support.blocking import BlockingConnection, ClosedByPeerError
from tests.support.requests import produce

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),
]


def produce_one(address: str) -> int:
    """What a worker does: its own client, its own connection."""
    with BlockingConnection(address) as client:
        answer = client.call(produce("orders"), 9, ProduceResponse)
    return answer.responses[0].partition_responses[0].error_code


class Child:
    """A forked process that runs `work`, says whether it went well, and waits for its end."""

    def __init__(self, work: Callable[[], object]) -> None:
        told, tell = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                text = repr(work())
            except BaseException as error:  # noqa: BLE001 -- told to the test
                text = f"{type(error).__name__}: {error}"
            os.write(tell, text.encode())
            os.close(tell)
            signal.pause()
        os.close(tell)
        with os.fdopen(told, encoding="utf-8") as stream:
            self.said = stream.read()

    def end(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def is_free(port: int) -> bool:
    """Whether another program could listen there, and nobody answers."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            return False
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
    return True


def test_a_forked_child_is_told_where_the_broker_lives() -> None:
    with MockBroker(topics=["orders"]) as broker:
        address = broker.bootstrap_servers

        def work() -> object:
            assert produce_one(address) == 0
            return broker.topics()

        child = Child(work)
        child.end()
        assert child.said.startswith("RuntimeError: this process is a fork: the broker lives in")
        assert f"process {os.getpid()}" in child.said
        assert len(broker.topic("orders").wait_for(1)) == 1


def test_a_child_that_leaves_the_with_block_ends_nothing() -> None:
    with MockBroker(topics=["orders"]) as broker:
        child = Child(lambda: broker.__exit__(None, None, None))
        child.end()
        assert child.said == "None"
        assert broker.topics() == ["orders"]


def test_a_child_may_start_a_broker_of_its_own() -> None:
    def work() -> object:
        with MockBroker(topics=["own"]) as own, BlockingConnection(own.bootstrap_servers) as client:
            answer = client.call(MetadataRequest(topics=None), 8, MetadataResponse)
            return [topic.name for topic in answer.topics], own.topics()

    with MockBroker(topics=["orders"]):
        child = Child(work)
        child.end()
    assert child.said == "(['own'], ['own'])"


def test_workers_of_a_preloaded_application_do_not_keep_the_port() -> None:
    """As gunicorn with --preload: the application starts its broker, then workers are forked."""
    broker = MockBroker(topics=["orders"], admin_port=0).start()
    address, port = broker.bootstrap_servers, broker.port
    admin_port = int(str(broker.admin_url).rpartition(":")[2])
    with BlockingConnection(address) as client:
        client.call(MetadataRequest(topics=None), 8, MetadataResponse)
        workers = [Child(lambda: produce_one(address)) for _ in range(2)]
        assert [worker.said for worker in workers] == ["0", "0"]
        assert len(broker.topic("orders").wait_for(2)) == 2
        broker.stop()
        with pytest.raises(ClosedByPeerError):  # a worker holds none of the broker's connections
            client.frame()
        assert is_free(port)
        assert is_free(admin_port)
    for worker in workers:
        worker.end()


def test_a_prefork_pool_goes_on_with_the_next_broker_at_the_address() -> None:
    # In a process of its own: a lock that another test's thread holds would stay held in the forks.
    program = f"from {__name__} import prefork_pool; prefork_pool()"
    root = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-c", program], cwd=root, check=True, timeout=50)


def prefork_pool() -> None:
    """As Celery's: the pool is made once, tasks come and go, tests replace the broker."""
    with MockBroker(topics=["orders"]) as first:
        address, port = first.bootstrap_servers, first.port
        pool = multiprocessing.get_context("fork").Pool(2)
        try:
            assert pool.map(produce_one, [address] * 4) == [0] * 4
            assert len(first.topic("orders").wait_for(4)) == 4
            first.stop()
            with MockBroker(topics=["orders"], port=port) as second:
                assert pool.map(produce_one, [address] * 4) == [0] * 4
                assert len(second.topic("orders").wait_for(4)) == 4
        finally:
            pool.terminate()
            pool.join()


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_process_of_multiprocessing_gets_the_address(method: str) -> None:
    context = multiprocessing.get_context(method)
    with MockBroker(topics=["orders"]) as broker:
        arguments = (broker.bootstrap_servers,)
        process = context.Process(target=produce_one, args=arguments)  # type: ignore[attr-defined]
        process.start()
        process.join()
        assert process.exitcode == 0
        assert len(broker.topic("orders").wait_for(1)) == 1


def test_a_broker_is_not_sent_to_another_process() -> None:
    with MockBroker() as broker, pytest.raises(TypeError, match="send its bootstrap_servers"):
        pickle.dumps(broker)
