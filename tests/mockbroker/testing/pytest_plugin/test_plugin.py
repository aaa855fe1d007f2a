"""The plugin in pytest runs of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mockbroker import MockBroker
from tests.support.sources import PYTHONPATH

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Runs in this folder find the package, and nothing of the outer run."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.delenv("MOCKBROKER_BOOTSTRAP", raising=False)
    return pytester


def go(run: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return run.runpytest_subprocess(
        "-p", "mockbroker.testing.pytest_plugin.plugin", "-p", "no:cacheprovider", *arguments
    )


def test_loading_it_imports_nothing_else() -> None:
    program = (
        "import sys, pytest; before = set(sys.modules);"
        "import mockbroker.testing.pytest_plugin.plugin; print(*sorted(set(sys.modules) - before))"
    )
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == [
        "mockbroker",
        "mockbroker.testing",
        "mockbroker.testing.pytest_plugin",
        "mockbroker.testing.pytest_plugin.plugin",
    ]


def test_what_a_test_makes_is_gone_in_the_next(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        servers = []

        def test_one(mockbroker, mockbroker_server):
            servers.append(mockbroker_server.port)
            mockbroker.topic("orders").put("one")
            mockbroker.group("g").commit({("orders", 0): 1})

        def test_two(mockbroker):
            assert servers == [mockbroker.port]
            assert mockbroker.topics() == mockbroker.groups() == []
        """
    )
    go(run).assert_outcomes(passed=2)


LEAKS = """
    from datetime import timedelta
    import pytest

    servers = []

    @pytest.mark.parametrize("turn", range(3))
    def test_leaks_nothing(mockbroker, turn):
        assert mockbroker.topic("orders").records() == []
        assert mockbroker.topic("orders").config == {}
        assert not mockbroker.clock.frozen
        servers.append((mockbroker.port, mockbroker.clock.wall_ms))
        assert servers[-1][1] - servers[0][1] < 600_000
        mockbroker.topic("orders").put("fresh")
        mockbroker.group("g").commit({("orders", 0): 1})
        mockbroker.clock.freeze()
        mockbroker.clock.advance(timedelta(days=20))
        mockbroker.clock.jump(timedelta(hours=-2))

    @pytest.mark.parametrize("turn", range(2))
    def test_leaves_what_cannot_be_taken_back(monkeypatch, mockbroker, turn):
        assert mockbroker.topics() == ["orders"]
        servers.append((mockbroker.port, mockbroker.clock.wall_ms))
        monkeypatch.setattr(type(mockbroker), "left_over", ("something",))

    def test_the_server_is_another_then(mockbroker):
        ports = [port for port, _ in servers]
        assert ports[0] == ports[1] == ports[2] == ports[3]
        assert (ports[3] == ports[4] == mockbroker.port) is KEPT
"""


@pytest.mark.parametrize("where", ["in-process", "process"])
@pytest.mark.parametrize("kept", [False, True])
def test_a_server_is_replaced_where_something_is_left_over(
    run: pytest.Pytester, kept: bool, where: str
) -> None:
    run.makeini(
        f"[pytest]\nmockbroker_topics = orders:1\nmockbroker_keep_server = {str(kept).lower()}"
    )
    run.makepyfile(LEAKS.replace("KEPT", str(kept)))
    go(run, f"--mockbroker={where}").assert_outcomes(passed=6)


def test_ini_options_shape_the_sessions_server(run: pytest.Pytester) -> None:
    run.makeini(
        """
        [pytest]
        mockbroker_topics =
            orders:6
            payments
        mockbroker_config = num.partitions=2
        """
    )
    run.makepyfile(
        """
        def test_it(mockbroker):
            assert mockbroker.topics() == ["orders", "payments"]
            assert mockbroker.topic("orders").partitions == 6
            assert mockbroker.topic("payments").partitions == 2
        """
    )
    go(run).assert_outcomes(passed=1)


def test_markers_bring_topics_and_a_broker_of_its_own(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.mockbroker(config={"num.partitions": 4})

        @pytest.mark.mockbroker_topics("orders", {"a-b": 2}, payments=3)
        def test_topics(mockbroker):
            counts = {name: mockbroker.topic(name).partitions for name in mockbroker.topics()}
            assert counts == {"orders": 4, "a-b": 2, "payments": 3}

        @pytest.mark.mockbroker(config={"num.partitions": 5}, topics=["x"])
        def test_the_closest_wins(mockbroker):
            assert mockbroker.topic("x").partitions == 5
            assert mockbroker.topics() == ["x"]
            mockbroker.topic("y").create()

        def test_again(mockbroker):
            assert mockbroker.topics() == []

        @pytest.mark.mockbroker(3)
        def test_misuse(mockbroker):
            pass
        """
    )
    result = go(run, "--strict-markers")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*marker mockbroker takes keywords only, not (3,)*"])


def test_the_factory_stops_what_it_started(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import socket

        import pytest

        ports = []

        def test_one(mockbroker_factory):
            one, two = mockbroker_factory(topics=["orders"]), mockbroker_factory()
            assert one.topics() == ["orders"] and two.topics() == []
            ports.extend([one.port, two.port])

        def test_two():
            for port in ports:
                with pytest.raises(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port), 1)
        """
    )
    go(run).assert_outcomes(passed=2)


def test_a_failing_test_shows_the_last_requests(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        def test_fails(mockbroker, kafka_producer):
            kafka_producer.send("orders", b"one").get(10)
            assert mockbroker.topic("orders").records()[0].value == b"two"

        def test_passes(mockbroker, kafka_producer):
            kafka_producer.send("orders", b"one").get(10)
        """
    )
    result = go(run)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- mockbroker 127.0.0.1:* -*",
            "*Produce v* [[]*orders-0 1 record(s) at 0] ok",
            "topic orders-0: offsets 0 to 1",
        ]
    )
    assert result.stdout.str().count("- mockbroker 127") == 1
    quiet = go(run, "-o", "mockbroker_journal_lines=0")
    assert "- mockbroker 127" not in quiet.stdout.str()


def test_a_failing_test_shows_nothing_of_the_way_to_the_broker(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        async def test_coroutine(mockbroker_aio):
            await mockbroker_aio.topic("orders").wait_for(1, timeout=0)

        def test_waits(mockbroker):
            mockbroker.topic("orders").wait_for(1, timeout=0)

        def test_silent(mockbroker):
            mockbroker.faults.add({"api": "Fetch", "drop": True})

        def test_armed(mockbroker):
            with mockbroker.faults.armed({"api": "Fetch", "drop": True}):
                pass
        """
    )
    result = go(run, "-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto")
    result.assert_outcomes(failed=4)
    # Paths of frames begin their lines.
    shown = [line for line in result.outlines if line.startswith(str(ROOT / "mockbroker"))]
    shown += [line for line in result.outlines if line.startswith("mockbroker/")]
    assert shown == []


def test_a_server_that_runs_is_used_and_cleaned(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import pytest
        from mockbroker import NotSupported

        @pytest.mark.mockbroker_topics(orders=2)
        def test_one(mockbroker, kafka_producer):
            kafka_producer.send("payments", b"one").get(10)
            assert mockbroker.topics() == ["before", "orders", "payments"]
            assert len(mockbroker.topic("payments").wait_for(1)) == 1
            with pytest.raises(NotSupported, match="journal.tail: this is a Kafka cluster"):
                mockbroker.journal.tail()

        def test_two(mockbroker):
            assert mockbroker.topics() == ["before"]
        """
    )
    with MockBroker(topics=["before"]) as broker:
        result = go(run, f"--mockbroker={broker.bootstrap_servers}")
        result.assert_outcomes(passed=2)
        assert broker.topics() == ["before"]


def test_the_command_line_wins_over_the_environment_and_that_over_the_ini(
    run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.makeini("[pytest]\nmockbroker_bootstrap = nowhere.invalid:1")
    run.makepyfile("def test_it(mockbroker): assert mockbroker.topics() == ['right']")
    with MockBroker(topics=["right"]) as right, MockBroker() as wrong:
        monkeypatch.setenv("MOCKBROKER_BOOTSTRAP", right.bootstrap_servers)
        go(run).assert_outcomes(passed=1)
        monkeypatch.setenv("MOCKBROKER_BOOTSTRAP", wrong.bootstrap_servers)
        go(run, f"--mockbroker={right.bootstrap_servers}").assert_outcomes(passed=1)


def test_each_xdist_worker_has_its_own_server(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("number", range(6))
        def test_it(mockbroker, number):
            assert mockbroker.topics() == []
            mockbroker.topic("orders").put(str(number))
            assert len(mockbroker.topic("orders").records()) == 1
        """
    )
    go(run, "-p", "xdist", "-n2").assert_outcomes(passed=6)


def test_coroutines_have_their_views(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import pytest

        @pytest.mark.asyncio
        async def test_it(mockbroker_aio, aiokafka_producer, aiokafka_consumer):
            await aiokafka_producer.send_and_wait("orders", b"one")
            (record,) = await mockbroker_aio.topic("orders").wait_for(1)
            consumer = await aiokafka_consumer("orders", group_id="g")
            assert (await consumer.getone()).value == record.value == b"one"
            await consumer.commit()
            await mockbroker_aio.group("g").wait_committed({("orders", 0): 1})
        """
    )
    go(run, "-p", "pytest_asyncio.plugin").assert_outcomes(passed=1)


def test_a_rule_that_never_fired_fails_its_test(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import pytest

        silent = {"api": "JoinGroup", "error": 15}

        def test_silent(mockbroker, kafka_producer):
            kafka_producer.send("orders", b"one").get(10)
            mockbroker.faults.add({**silent, "id": "dumb"})

        @pytest.mark.mockbroker_faults({**silent, "maybe": True})
        def test_excused(mockbroker):
            pass

        @pytest.mark.mockbroker_faults({"api": "Produce", "error": 6, "count": 1})
        def test_fired(mockbroker, kafka_producer):
            kafka_producer.send("orders", b"one").get(10)

        @pytest.mark.mockbroker_faults(silent)
        def test_fails_anyway(mockbroker):
            assert False

        @pytest.mark.mockbroker_faults(silent)
        def test_is_skipped(mockbroker):
            pytest.skip("no")

        @pytest.mark.xfail
        @pytest.mark.mockbroker_faults(silent)
        def test_is_expected_to_fail(mockbroker):
            pass

        @pytest.mark.mockbroker(faults=[silent])
        def test_on_its_own(mockbroker):
            pass

        def test_nothing_is_left(mockbroker):
            pass
        """
    )
    result = go(run)
    result.assert_outcomes(passed=3, failed=3, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(
        [
            "*VerificationError: fault dumb (api='JoinGroup', error=15, id='dumb') never fired:*",
            "*the nearest requests:",
            "*: api is *",
            "*- mockbroker -*",
            "fault fault-* (api='JoinGroup', error=15) never fired: none of 0 request(s) fitted",
        ]
    )


def test_strictness_is_a_marker_and_an_option(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import socket

        import pytest

        def refuse(broker):
            with socket.create_connection((broker.host, broker.port)) as client:
                client.sendall(b"\\x00\\x00\\x00\\x0a\\x03\\xe7" + bytes(5) + b"\\x01" + bytes(2))
                assert client.recv(1) == b""

        def test_plain(mockbroker):
            refuse(mockbroker)

        @pytest.mark.mockbroker_strict
        def test_strict(mockbroker):
            refuse(mockbroker)

        @pytest.mark.mockbroker_strict(False)
        def test_not_strict(mockbroker):
            refuse(mockbroker)
        """
    )
    go(run).assert_outcomes(passed=2, failed=1)
    run.makeini("[pytest]\nmockbroker_strict = true\n")
    result = go(run)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*refused requests:*"])


def test_clients_of_fixtures_log_in(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import pytest

        MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        CONFIG = {
            "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "plain.sasl.jaas.config": MODULE + ' user_alice="right";',
        }
        pytestmark = [
            pytest.mark.mockbroker(config=CONFIG),
            pytest.mark.mockbroker_client(login=("alice", "right")),
        ]

        def test_it(mockbroker, kafka_producer, confluent_producer):
            kafka_producer.send("orders", b"one").get(10)
            confluent_producer.produce("orders", b"two")
            assert confluent_producer.flush(10) == 0
            told = {one.principal for one in mockbroker.journal.requests(api="Produce")}
            assert told == {"User:alice"}

        @pytest.mark.mockbroker_client("alice")
        def test_misuse(mockbroker_clients):
            pass
        """
    )
    result = go(run, "-W", "ignore")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines("*marker mockbroker_client takes keywords only*")
