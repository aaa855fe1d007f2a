"""The four questions to a broker, against this project's own over TCP."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.broker_client import EARLIEST, BrokerClient, parse_bootstrap
from mockbroker.pipeline.errors import PipelineError
from tests.support.whole_topics import produce

if TYPE_CHECKING:
    from mockbroker import MockBroker


def test_topics_partitions_and_offsets(broker: MockBroker, topic: str) -> None:
    with BrokerClient(broker.bootstrap_servers) as client:
        assert client.create_topic(topic, 3)
        assert not client.create_topic(topic, 5)
        assert topic in client.topics()
        assert client.partitions(topic) == [0, 1, 2]
        assert client.offsets(topic) == {0: 0, 1: 0, 2: 0}
        produce(broker.bootstrap_servers, topic, [b"one"], partition=1)
        assert client.offsets(topic) == {0: 0, 1: 1, 2: 0}
        assert client.offsets(topic, EARLIEST) == {0: 0, 1: 0, 2: 0}


def test_a_leader_that_is_not_one_yet_is_asked_again(broker: MockBroker, topic: str) -> None:
    with BrokerClient(broker.bootstrap_servers) as client:
        client.create_topic(topic, 1)
        for api, error in (
            ("ListOffsets", "NOT_LEADER_OR_FOLLOWER"),
            ("Metadata", "LEADER_NOT_AVAILABLE"),
            # This client has made it: Kafka's controller knows it before its brokers do.
            ("Metadata", "UNKNOWN_TOPIC_OR_PARTITION"),
        ):
            broker.faults.add({"api": api, "topic": topic, "error": error, "count": 2})
            assert client.offsets(topic) == {0: 0}
            assert broker.faults.list()[-1].hits == 2
    broker.faults.add({"api": "ListOffsets", "topic": topic, "error": "NOT_LEADER_OR_FOLLOWER"})
    with (
        BrokerClient(broker.bootstrap_servers, timeout_seconds=0.3) as client,
        pytest.raises(PipelineError, match=f"topic {topic}, partition 0: NOT_LEADER_OR_FOLLOWER"),
    ):
        client.offsets(topic)


def test_asking_for_a_topic_does_not_make_it() -> None:
    from mockbroker import MockBroker

    with MockBroker(auto_create=True) as running:
        for _ in range(2):
            with (
                BrokerClient(running.bootstrap_servers) as client,
                pytest.raises(PipelineError, match="unknown topic nope"),
            ):
                client.partitions("nope")


def test_a_topic_that_may_not_be_made(broker: MockBroker) -> None:
    with (
        BrokerClient(broker.bootstrap_servers) as client,
        pytest.raises(PipelineError, match="topic a/b cannot be created"),
    ):
        client.create_topic("a/b", 1)


def test_nobody_answers_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with (
            BrokerClient(f"127.0.0.1:{port},127.0.0.1:{port}") as client,
            pytest.raises(PipelineError, match=f"no broker answers: 127.0.0.1:{port}: Connection"),
        ):
            client.topics()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_what_answers_is_no_broker(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with (
            BrokerClient(f"127.0.0.1:{port}") as client,
            pytest.raises(PipelineError, match="no broker answers"),
        ):
            client.topics()
        thread.join()


def test_addresses() -> None:
    assert parse_bootstrap("a:1, [::1]:2") == [("a", 1), ("::1", 2)]
    for text in ("", "a", "a:", ":1", "a:x", "a:0", "a:70000", "a:1,"):
        with pytest.raises(PipelineError, match=r"--bootstrap: .* is not HOST:PORT"):
            parse_bootstrap(text)
