"""The same suite wherever its broker runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import pytest

from mockbroker import MockBroker
from mockbroker.testing.pytest_plugin import servers
from tests.support.sources import PYTHONPATH

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = ["pytester"]

SUITE = """
    import pytest
    from mockbroker import Fault

    @pytest.mark.mockbroker_topics(orders=2)
    def test_records(mockbroker, kafka_producer):
        kafka_producer.send("orders", b"one").get(10)
        assert [one.value for one in mockbroker.topic("orders").wait_for(1)] == [b"one"]

    def test_nothing_is_left(mockbroker):
        assert mockbroker.topics() == []

    @pytest.mark.mockbroker_needs("clock", "journal")
    def test_time(mockbroker):
        mockbroker.clock.advance(1000)

    @pytest.mark.mockbroker_faults(Fault(api="Fetch", drop=True, maybe=True))
    def test_fault(mockbroker):
        assert len(mockbroker.faults.list()) == 1

    @pytest.mark.mockbroker(brokers=3)
    def test_own(mockbroker):
        assert len(mockbroker.cluster.brokers) == 3

    def test_prefix(mockbroker, mockbroker_prefix):
        topic = mockbroker.topic(mockbroker_prefix + "orders")
        topic.put("one")
        assert len(topic.wait_for(1)) == 1
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.delenv("MOCKBROKER_BOOTSTRAP", raising=False)
    pytester.makepyfile(SUITE)
    return pytester


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)


@pytest.fixture
def served() -> Iterator[MockBroker]:
    with MockBroker(admin_port=0) as broker:
        yield broker


def go(run: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    plugin = "mockbroker.testing.pytest_plugin.plugin"
    return run.runpytest_subprocess("-p", plugin, "-p", "no:cacheprovider", "-rs", *arguments)


@pytest.mark.parametrize("where", ["in-process", "process"])
def test_a_broker_that_is_started_has_all_that_is_needed(run: pytest.Pytester, where: str) -> None:
    go(run, f"--mockbroker={where}").assert_outcomes(passed=6)


def test_one_that_runs_has_all_but_a_broker_of_the_tests_own(
    run: pytest.Pytester, served: MockBroker
) -> None:
    result = go(run, f"--mockbroker={served.admin_url}")
    result.assert_outcomes(passed=5, skipped=1)
    result.stdout.fnmatch_lines(["*needs own_broker: a broker of the test's own*"])
    assert served.topics() == []


def test_a_kafka_cluster_skips_what_only_the_fake_can_do(
    run: pytest.Pytester, served: MockBroker
) -> None:
    result = go(run, f"--mockbroker=kafka://{served.bootstrap_servers}?client.id=suite")
    result.assert_outcomes(passed=3, skipped=3)
    result.stdout.fnmatch_lines_random(
        ["*needs clock: a time that can be moved*", "*needs faults: fault rules*"]
    )
    assert served.topics() == []
    assert served.journal.requests(client="suite")


def test_one_that_workers_share_is_cleaned_of_each_tests_prefix(
    run: pytest.Pytester, served: MockBroker
) -> None:
    run.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("number", range(4))
        def test_it(mockbroker, mockbroker_prefix, number):
            topic = mockbroker.topic(mockbroker_prefix + "orders")
            topic.create(1).put(str(number))
            mockbroker.group(mockbroker_prefix + "g").commit({(topic.name, 0): 1})
            assert [one.value for one in topic.records()] == [str(number).encode()]

        @pytest.mark.mockbroker_needs("clock")
        def test_time(mockbroker):
            mockbroker.clock.advance(1)
        """
    )
    for where in (served.admin_url, served.bootstrap_servers):
        result = go(run, f"--mockbroker={where}", "-p", "xdist", "-n2")
        result.assert_outcomes(passed=4, skipped=1)
        assert (served.topics(), served.groups()) == ([], [])


@pytest.mark.usefixtures("alone")
def test_what_there_is_not_follows_from_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert servers.lacks("") == servers.lacks("in-process") == frozenset()
    assert servers.lacks("process") == {"metadata_log"}
    assert servers.lacks("container:image:1") == {"metadata_log", "own_broker"}
    assert servers.lacks("http://a:1") == {"metadata_log", "own_broker"}
    assert servers.lacks("kafka://a:1") == servers.lacks("a:1,[::1]:2") == frozenset(servers.NEEDS)
    assert not servers.is_shared("http://a:1")
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    assert servers.is_shared("http://a:1")
    assert "clock" in servers.lacks("http://a:1")
    assert not servers.is_shared("process")
    with pytest.raises(pytest.UsageError, match="'somewhere'; allowed: in-process, process"):
        servers.lacks("somewhere")


def test_a_word_that_nothing_needs_is_refused(run: pytest.Pytester, served: MockBroker) -> None:
    run.makepyfile(
        """
        import pytest

        @pytest.mark.mockbroker_needs("clok")
        def test_it(mockbroker):
            pass
        """
    )
    result = go(run, f"--mockbroker={served.admin_url}")
    result.stdout.fnmatch_lines(["*mockbroker_needs: 'clok' is unknown; allowed: client_metrics*"])


def test_a_container_is_one_of_the_image_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import mockbroker.testcontainers

    started: list[dict[str, object]] = []

    class Container:
        def __init__(self, **options: object) -> None:
            started.append(options)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *error: object) -> None: ...

        def restart(self) -> None: ...

    monkeypatch.setattr(mockbroker.testcontainers, "MockBrokerContainer", Container)
    with servers.opened("container:here/mockbroker:1", {"config": {"a": "1"}}) as server:
        assert isinstance(server.broker, Container)
        assert server.restart == server.broker.restart
    assert started == [{"image": "here/mockbroker:1", "topics": None, "config": {"a": "1"}}]
