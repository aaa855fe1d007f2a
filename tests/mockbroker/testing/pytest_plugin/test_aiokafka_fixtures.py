"""The fixtures that are coroutines."""

from __future__ import annotations

import pytest

from tests.support.sources import PYTHONPATH

pytest_plugins = ["pytester"]


def test_clients_of_aiokafka_are_started(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    monkeypatch.delenv("MOCKBROKER_BOOTSTRAP", raising=False)
    pytester.makepyfile(
        """
        import pytest

        pytestmark = [pytest.mark.asyncio, pytest.mark.mockbroker_topics(orders=3)]

        async def test_it(mockbroker, aiokafka_admin, aiokafka_producer, aiokafka_consumer):
            assert await aiokafka_admin.list_topics() == ["orders"]
            await aiokafka_producer.send_and_wait("orders", b"one", partition=2)
            one = await aiokafka_consumer("orders")
            assert len(one.assignment()) == 3
            assert (await one.getone()).value == b"one"
            two = await aiokafka_consumer("orders", group_id="g", client_id="svc")
            assert [member.client_id for member in mockbroker.group("g").members()] == ["svc"]
        """
    )
    result = pytester.runpytest_subprocess(
        "-p",
        "pytest_asyncio.plugin",
        "-p",
        "mockbroker.testing.pytest_plugin.plugin",
        "-p",
        "no:cacheprovider",
    )
    result.assert_outcomes(passed=1)


def test_without_pytest_asyncio_they_say_what_they_need(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    pytester.makepyfile(
        """
        def test_producer(aiokafka_producer):
            pass

        def test_consumer(aiokafka_consumer):
            pass

        def test_admin(aiokafka_admin):
            pass
        """
    )
    result = pytester.runpytest_subprocess(
        "-p", "mockbroker.testing.pytest_plugin.plugin", "-p", "no:cacheprovider"
    )
    result.assert_outcomes(errors=3)
    for name in ("producer", "consumer", "admin"):
        result.stdout.fnmatch_lines([f"*aiokafka_{name} needs pytest-asyncio: pip install *"])
