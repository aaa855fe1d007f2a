"""Each fixture of the plugin two hundred times over: one that fails once in ten is no fixture."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sources import PYTHONPATH

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]
TIMES = 200
USES = {
    "mockbroker": "assert mockbroker.topics() == ['orders']",
    "mockbroker_factory": "assert mockbroker_factory(topics=['a']).topics() == ['a']",
    "mockbroker_aio": "assert await mockbroker_aio.topics() == ['orders']",
    "mockbroker_prefix": "assert mockbroker_prefix",
    "mockbroker_clients": "mockbroker_clients.kafka_admin().list_topics()",
    "kafka_producer": "kafka_producer.send('orders', b'one').get(10)",
    "kafka_consumer": "assert kafka_consumer('orders', group_id='g').assignment()",
    "kafka_admin": "assert 'orders' in kafka_admin.list_topics()",
    "confluent_producer": (
        "confluent_producer.produce('orders', b'one'); assert confluent_producer.flush(10) == 0"
    ),
    "confluent_consumer": "assert confluent_consumer('orders', group_id='g').assignment()",
    "confluent_admin": "assert 'orders' in confluent_admin.list_topics(timeout=10).topics",
    "aiokafka_producer": "await aiokafka_producer.send_and_wait('orders', b'one')",
    "aiokafka_consumer": ("assert (await aiokafka_consumer('orders', group_id='g')).assignment()"),
    "aiokafka_admin": "assert 'orders' in await aiokafka_admin.list_topics()",
}


@pytest.mark.parametrize("fixture", USES)
def test_a_fixture_works_each_time(
    fixture: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    for variable in ("PYTEST_XDIST_WORKER", "MOCKBROKER_BOOTSTRAP"):
        monkeypatch.delenv(variable, raising=False)
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.parametrize("time", range({TIMES}))
        @pytest.mark.mockbroker_topics("orders")
        async def test_it({fixture}, time):
            {USES[fixture]}
        """
    )
    done = pytester.runpytest_subprocess(
        "-p", "pytest_asyncio.plugin", "-p", "mockbroker.testing.pytest_plugin.plugin",
        "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "-q",
    )  # fmt: skip
    done.assert_outcomes(passed=TIMES)


def test_all_fixtures_are_used() -> None:
    from mockbroker.testing.pytest_plugin import aiokafka_fixtures, plugin

    defined = {
        name
        for module in (plugin, aiokafka_fixtures)
        for name, one in vars(module).items()
        if getattr(one, "_pytestfixturefunction", None) or "Fixture" in type(one).__name__
    }
    assert defined - {"mockbroker_server"} == USES.keys()
