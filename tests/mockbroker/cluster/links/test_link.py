"""Links carry in order, late, or not at all."""

from __future__ import annotations

from functools import partial

import pytest

from mockbroker.clock import Clock, Timer
from mockbroker.cluster.links.link import Links


class Net:
    def __init__(self) -> None:
        self.clock = Clock()
        self.timer = Timer()
        self.links = Links(self.clock, self.timer)
        self.link = self.links.get(1, 2)
        self.heard: list[str] = []

    def send(self, *words: str) -> None:
        for word in words:
            self.link.send(partial(self.heard.append, word))

    def run(self, until_ms: float = 0.0) -> list[str]:
        self.clock.now_ms = max(self.clock.now_ms, until_ms)
        self.timer.advance(self.clock.now_ms)
        while self.links.run():
            pass
        heard = list(self.heard)
        self.heard.clear()
        return heard


@pytest.fixture
def net() -> Net:
    return Net()


def test_what_is_sent_arrives_when_run_and_in_order(net: Net) -> None:
    net.send("a", "b")
    assert net.heard == []
    assert net.run() == ["a", "b"]
    assert not net.links.run()


def test_each_way_is_a_link_of_its_own(net: Net) -> None:
    assert net.links.get(1, 2) is net.link
    assert net.links.get(2, 1) is not net.link
    net.links.get(2, 1).sever()
    net.send("a")
    assert net.run() == ["a"]


def test_a_cut_link_loses_also_what_is_on_its_way(net: Net) -> None:
    net.link.slow(10.0)
    net.send("a")
    net.link.sever()
    net.send("b")
    assert net.run(50.0) == []
    net.link.restore()
    net.send("c")
    assert net.run(50.0) == ["c"]


def test_a_held_link_keeps_what_is_sent(net: Net) -> None:
    net.link.hold()
    net.send("a", "b")
    assert net.run(1000.0) == []
    net.link.restore()
    net.send("c")
    assert net.run(1000.0) == ["a", "b", "c"]


def test_a_slow_link_is_late_and_keeps_the_order_when_it_is_fast_again(net: Net) -> None:
    net.link.slow(10.0)
    net.send("a")
    net.link.slow(0.0)
    net.send("b")
    assert net.run(9.0) == []
    assert net.run(10.0) == ["a", "b"]
    net.send("c")
    assert net.run(10.0) == ["c"]


def test_who_waits_for_a_link_is_told_that_it_carries_again(net: Net) -> None:
    told: list[str] = []
    net.link.on_open.append(lambda: told.append("open"))
    net.link.restore()
    assert told == []
    net.link.sever()
    assert not net.link.open
    net.link.restore()
    assert told == ["open"]


def test_behind_a_held_link_the_same_message_waits_once(net: Net) -> None:
    again = partial(net.heard.append, "again")
    net.link.hold()
    for message in (again, again, partial(net.heard.append, "other"), again):
        net.link.send(message)
    net.link.restore()
    assert net.run() == ["again", "other", "again"]


def test_a_link_is_steady_while_nothing_is_on_its_way(net: Net) -> None:
    net.link.slow(4.5)
    seen = [net.link.steady_delay_ms]
    net.send("a")
    seen.append(net.link.steady_delay_ms)
    assert net.run(5.0) == ["a"]
    seen.append(net.link.steady_delay_ms)
    net.link.hold()
    seen.append(net.link.steady_delay_ms)
    assert seen == [5, None, 5, None]
