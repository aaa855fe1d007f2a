"""Calls and waits from other threads, and what becomes of them when the broker stops."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker, TopicError
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker.server.launch import launch, new_event_loop
from mockbroker.server.settings import Settings
from mockbroker.testing import bridge as bridge_module
from mockbroker.testing.bridge import AsyncBridge, Bridge, WaitTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.cluster.cluster import Cluster

DEADLINE_SECONDS = 20.0
"""Only a broken bridge makes a test wait this long."""


class Host:
    """A broker in a thread that this test can stop at a moment of its choice."""

    def __init__(self) -> None:
        self.loop = new_event_loop()
        self.bridge = Bridge(self.loop.run_until_complete(launch(Settings())))
        self.thread = threading.Thread(target=self._run)
        self.stopped = False

    def _run(self) -> None:
        self.loop.run_forever()
        self.loop.run_until_complete(self.bridge.running.stop())
        self.loop.close()

    def stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join(DEADLINE_SECONDS)


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    host.thread.start()
    yield host
    host.stop()


def frames(error: BaseException) -> list[str]:
    """Where a traceback leads through mockbroker, apart from what pytest hides."""
    return [
        name
        for frame, _ in walk_tb(error.__traceback__)
        if "__tracebackhide__" not in frame.f_globals
        and (name := frame.f_globals["__name__"]).startswith("mockbroker")
    ]


def test_an_error_of_ours_shows_none_of_our_frames() -> None:
    with MockBroker(topics=["orders"]) as broker:
        for act in (
            lambda: broker.topic("orders").create(),
            lambda: broker.topic("orders").wait_for(1, timeout=0),
            lambda: broker.faults.add({"api": "Beat"}),
            lambda: broker.journal.expect(api="Fetch").within(0),
            lambda: broker.restore("/nowhere"),
        ):
            with pytest.raises(Exception, match=r".") as caught:
                act()
            assert frames(caught.value) == []
        broker.topic("orders").put("x")
        with pytest.raises(ZeroDivisionError) as defect:
            broker.topic("orders").records(decode=lambda _value: 1 // 0)
        assert frames(defect.value)


async def test_nor_does_one_that_is_awaited() -> None:
    async with MockBroker(topics=["orders"]) as broker:
        with pytest.raises(TopicError) as caught:
            await broker.aio.topic("orders").create()
        assert frames(caught.value) == []
        with pytest.raises(WaitTimeoutError) as late:
            await broker.aio.topic("orders").wait_for(1, timeout=0)
        assert frames(late.value) == []


def test_every_module_of_the_views_hides_its_frames() -> None:
    folder = Path(bridge_module.__file__).parent
    modules = [
        path
        for path in folder.rglob("*.py")
        if path.name != "__init__.py" and path.parent.name != "pytest_plugin"
    ]
    assert modules
    for path in modules:
        assert "\n__tracebackhide__ = True\n" in path.read_text("utf-8"), path


def create(name: str) -> Callable[[Cluster], object]:
    return lambda cluster: cluster.controller.create_topics([NewTopic(name)])


def has(name: str) -> Callable[[Cluster], bool | None]:
    return lambda cluster: True if name in cluster.metadata.topics else None


def no_explanation(cluster: Cluster) -> str:
    return f"topics: {sorted(cluster.metadata.topics)}"


def test_a_call_runs_in_the_brokers_loop(host: Host) -> None:
    ident = host.bridge.call(lambda _: threading.get_ident())
    assert ident == host.thread.ident


def test_what_a_call_raises_is_raised_to_its_caller(host: Host) -> None:
    def fail(cluster: Cluster) -> None:
        raise KeyError(cluster.metadata.cluster_id)

    with pytest.raises(KeyError):
        host.bridge.call(fail)
    assert host.bridge.call(lambda _: 1) == 1


def test_a_wait_ends_with_the_step_that_fulfils_it(host: Host) -> None:
    results: list[bool] = []
    thread = threading.Thread(
        target=lambda: results.append(
            host.bridge.wait(has("orders"), DEADLINE_SECONDS, no_explanation)
        )
    )
    thread.start()
    host.bridge.call(create("payments"))
    assert results == []
    host.bridge.call(create("orders"))
    thread.join(DEADLINE_SECONDS)
    assert results == [True]
    assert host.bridge.call(lambda _: host.bridge.running.watched) is False


def test_what_is_true_already_is_not_waited_for(host: Host) -> None:
    host.bridge.call(create("orders"))
    assert host.bridge.wait(has("orders"), 0, no_explanation) is True


def test_a_wait_that_is_over_says_what_there_is(host: Host) -> None:
    host.bridge.call(create("payments"))
    with pytest.raises(WaitTimeoutError, match=r"topics: \['payments'\]") as caught:
        host.bridge.wait(has("orders"), 0.01, no_explanation)
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, TimeoutError)


def test_an_error_of_the_condition_ends_the_wait(host: Host) -> None:
    def broken(cluster: Cluster) -> None:
        raise KeyError(cluster)

    with pytest.raises(KeyError):
        host.bridge.wait(broken, DEADLINE_SECONDS, no_explanation)


def test_stopping_ends_the_waits_of_others(host: Host) -> None:
    begun = threading.Event()
    errors: list[BaseException] = []

    def never(cluster: Cluster) -> None:
        begun.set()

    def wait() -> None:
        try:
            host.bridge.wait(never, DEADLINE_SECONDS, no_explanation)
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    assert begun.wait(DEADLINE_SECONDS)
    host.stop()
    host.bridge.close()
    thread.join(DEADLINE_SECONDS)
    assert [str(error) for error in errors] == ["the broker was stopped meanwhile"]


def test_a_call_that_the_loop_never_comes_to_is_told(host: Host) -> None:
    """The loop ends between the call's posting and its turn."""
    errors: list[BaseException] = []

    def call() -> None:
        try:
            host.bridge.call(lambda _: None)
        except RuntimeError as error:
            errors.append(error)

    host.stop()
    assert not host.thread.is_alive()
    thread = threading.Thread(target=call)
    thread.start()
    thread.join(DEADLINE_SECONDS)
    assert [str(error) for error in errors] == ["the broker was stopped meanwhile"]
    host.bridge.close()
    with pytest.raises(RuntimeError, match="not running"):
        host.bridge.call(lambda _: None)


async def test_in_the_brokers_own_loop_a_wait_is_awaited() -> None:
    running = await launch(Settings())
    bridge = Bridge(running)
    try:
        with pytest.raises(RuntimeError, match=r"await the same of `broker\.aio`"):
            bridge.wait(has("orders"), 1, no_explanation)
        waiting = asyncio.ensure_future(
            AsyncBridge(bridge).wait(has("orders"), DEADLINE_SECONDS, no_explanation)
        )
        await AsyncBridge(bridge).call(create("orders"))
        assert await waiting is True
    finally:
        await running.stop()
        bridge.close()


async def test_a_cancelled_wait_is_forgotten() -> None:
    running = await launch(Settings())
    bridge = Bridge(running)
    try:
        waiting = asyncio.ensure_future(
            AsyncBridge(bridge).wait(has("orders"), DEADLINE_SECONDS, no_explanation)
        )
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await AsyncBridge(bridge).call(create("payments"))
        await asyncio.sleep(0)
        assert running.watched is False
    finally:
        await running.stop()
        bridge.close()


async def test_a_wait_begins_with_its_own_steps() -> None:
    running = await launch(Settings())
    bridge = Bridge(running)
    try:
        assert bridge.wait(has("a"), 1, no_explanation, begin=(create("a"),)) is True
        created = await AsyncBridge(bridge).wait(
            has("b"), DEADLINE_SECONDS, no_explanation, begin=(create("c"), create("b"))
        )
        assert created is True
        assert sorted(running.cluster.metadata.topics) == ["a", "b", "c"]
        with pytest.raises(KeyError, match="none"):
            await AsyncBridge(bridge).wait(
                has("b"),
                1,
                no_explanation,
                begin=(lambda cluster: cluster.metadata.topics["none"],),
            )
    finally:
        await running.stop()
        bridge.close()


def test_what_is_repeated_lets_others_act_between(host: Host) -> None:
    seen: list[str] = []

    def act(_: Cluster) -> bool:
        seen.append("mine")
        host.loop.call_soon(seen.append, "another's")
        return len(seen) < 5

    host.bridge.repeat(act)
    assert seen[:5] == ["mine", "another's", "mine", "another's", "mine"]


async def test_so_does_what_is_awaited_in_the_brokers_own_loop() -> None:
    seen: list[str] = []

    def act(_: Cluster) -> bool:
        seen.append("mine")
        asyncio.get_running_loop().call_soon(seen.append, "another's")
        return len(seen) < 3

    running = await launch(Settings())
    try:
        await AsyncBridge(Bridge(running)).repeat(act)
    finally:
        await running.stop()
    assert seen[:3] == ["mine", "another's", "mine"]
