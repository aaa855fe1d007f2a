"""A book notices what a group may not be told, given or dealt."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mockbroker.coop.ic_shard import CommittedRanges
from mockbroker.coop.interval_set import IntervalSet
from mockbroker.coop.key_filter import SLOTS, KeyRange
from mockbroker.coop.leases import Holder
from mockbroker.metadata.names import INDIVIDUAL_COMMITS_TOPIC
from simulation.cluster import sharing_book
from simulation.cluster.sharing_book import SharingBook
from tests.support.simulated_cluster import SimulatedCluster

pytestmark = pytest.mark.sim

ALL = (KeyRange(0, SLOTS - 1),)


@pytest.fixture
def book() -> SharingBook:
    """Of a partition with some records, whose leader is broker 1."""
    simulated = SimulatedCluster()
    simulated.produce(4)
    return SharingBook(simulated.world, simulated.truth, "g", ("t0", 0))


def wrong(book: SharingBook) -> list[str]:
    return [text.partition(" ms: ")[2] for text in book.world.violations]


def test_what_nobody_committed_must_not_be_told(book: SharingBook) -> None:
    book.tries([(0, 1), (3, 3)])
    book.told("m", book.ask(1), 2, [(3, 3)], all_of_it=False)
    assert not wrong(book)
    book.told("m", book.ask(1), 3, [(3, 3)], all_of_it=False)
    assert wrong(book) == ["m is told 3 [(3, 3)]: nobody committed [2]"]


def test_what_was_acknowledged_must_be_told_by_who_coordinates(
    book: SharingBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    led = book.ask(1)._replace(led=(0, 0, 0))
    monkeypatch.setattr(book, "_led", lambda _: (0, 0, 0))
    book.tries([(0, 2)])
    book.committed(led, [(0, 2)])
    asked = book.ask(1)
    book.told("m", asked, 1, [(2, 2)], all_of_it=False)
    book.told("m", asked._replace(led=(-1, 0, 0)), 1, [(2, 2)], all_of_it=True)
    assert not wrong(book)
    book.told("m", asked, 1, [(2, 2)], all_of_it=True)
    assert wrong(book) == ["m is told 1 [(2, 2)]: [1] was committed"]


def test_a_position_takes_back_what_is_behind_it(
    book: SharingBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "_led", lambda _: (0, 0, 0))
    book.tries([(0, 3)])
    under_way = book.ask(1)
    book.committed(under_way, [(0, 3)])
    book.sets(2)
    assert book.sure == {0, 1}
    book.committed(under_way, [(3, 3)])
    book.was_set(2, done=None)
    book.committed(book.ask(1), [(3, 3)])
    assert book.sure == {0, 1}
    book.world.run_for(600)
    book.committed(book.ask(1), [(3, 3)])
    assert book.sure == {0, 1, 3}


def test_a_filter_gives_what_is_there(book: SharingBook) -> None:
    given = [(0, b"producer:1")]
    book.was_given("m", (0, 1), given, ALL, committed=False)
    assert not wrong(book)
    book.was_given("m", (0, 2), given, ALL, committed=False)
    assert "is given" in wrong(book)[0]


def test_a_key_is_read_by_one_in_a_generation(
    book: SharingBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyed = [(0, b"k", b"v"), (1, b"l", b"v"), (2, None, b"v")]
    monkeypatch.setattr(
        "simulation.cluster.sharing_book.records_of", lambda *_, committed: keyed or committed
    )
    book.reads("m", 5, [0, 2])
    book.reads("other", 5, [1, 2])
    book.reads("other", 6, [0])
    assert not wrong(book)
    book.reads("other", 5, [0])
    assert wrong(book) == ["other and m read b'k' in 5"]


def test_a_lease_is_of_one_and_ends(book: SharingBook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulation.cluster.sharing_book.is_current", lambda *_: True)
    monkeypatch.setattr(book, "_coordinator", lambda: book.world.cluster.broker(1))
    monkeypatch.setattr(book, "_dealt_by", lambda _: (0, 0, 0))
    one, other = Holder("one", 1), Holder("other", 1)
    book.was_dealt("m1", book.ask(1), one, [(0, 1)], 100.0)
    book.world.run_for(150)
    book.was_dealt("m2", book.ask(1), other, [(0, 0)], 100.0)
    assert not wrong(book)
    book.was_dealt("m1", book.ask(1), one, [(0, 0)], 100.0)
    assert "which Holder(member='other'" in wrong(book)[0]
    book.committed(book.ask(1), [(1, 1)])
    book.was_dealt("m2", book.ask(1), other, [(1, 1)], 100.0)
    assert wrong(book)[1] == "m2 is dealt [1], which were committed"


def test_a_lease_outlives_who_leads_and_not_who_coordinates(
    book: SharingBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulation.cluster.sharing_book.is_current", lambda *_: True)
    monkeypatch.setattr(book, "_coordinator", lambda: book.world.cluster.broker(1))
    one, other = Holder("one", 1), Holder("other", 1)
    for epochs, member, holder in (
        ((0, 0, 0), "m1", one),
        ((1, 1, 0), "m2", other),
        ((1, 1, 1), "m1", one),
    ):
        monkeypatch.setattr(book, "_dealt_by", lambda _, epochs=epochs: epochs)
        assert not wrong(book)
        book.was_dealt(member, book.ask(1), holder, [(0, 0)], 100.0)
    assert "which Holder(member='other'" in wrong(book)[0]


def test_a_commit_may_give_back_until_it_is_acknowledged(
    book: SharingBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulation.cluster.sharing_book.is_current", lambda *_: True)
    monkeypatch.setattr(book, "_coordinator", lambda: book.world.cluster.broker(1))
    monkeypatch.setattr(book, "_dealt_by", lambda _: (0, 0, 0))
    one, other = Holder("one", 1), Holder("other", 1)
    book.was_dealt("m1", book.ask(1), one, [(0, 2)], 100.0)
    fails, succeeds = book.ask(1), book.ask(1)
    book.commits(fails, [(0, 0)])
    book.was_dealt("m2", book.ask(1), other, [(0, 0)], 100.0)
    book.refused(fails, [(0, 0)])
    book.was_dealt("m1", book.ask(1), one, [(0, 0)], 100.0)
    book.commits(succeeds, [(1, 1)])
    book.was_dealt("m2", book.ask(1), other, [(1, 1)], 100.0)
    assert not wrong(book)
    book.committed(succeeds, [(1, 1)])
    assert len(wrong(book)) == 1
    assert wrong(book)[0].startswith("m2 is dealt 1, which Holder(member='one'")
    book.was_dealt("m2", book.ask(1), other, [(0, 0)], 100.0)
    assert "m2 is dealt 0" in wrong(book)[1]


def test_what_waits_for_a_marker_may_be_dealt(
    book: SharingBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "_dealt_by", lambda _: (0, 0, 0))
    book.committed(book.ask(1), [(0, 1)])
    holder = Holder("one", 1)
    monkeypatch.setattr(book, "_pending", lambda: frozenset((0,)))
    waiting = book.ask(1)
    monkeypatch.undo()
    monkeypatch.setattr(book, "_dealt_by", lambda _: (0, 0, 0))
    book.was_dealt("m1", waiting, holder, [(0, 0)], 100.0)
    assert not wrong(book)
    book.was_dealt("m1", waiting, holder, [(1, 1)], 100.0)
    book.was_dealt("m1", book.ask(1), holder, [(0, 0)], 100.0)
    assert wrong(book) == [f"m1 is dealt [{at}], which were committed" for at in (1, 0)]


def test_ranges_that_touch_are_noticed(book: SharingBook, monkeypatch: pytest.MonkeyPatch) -> None:
    part = CommittedRanges()
    part.pending[7] = IntervalSet([(1, 1), (3, 4)])
    commits = SimpleNamespace(commits=SimpleNamespace(ranges_of=lambda *_, **__: part))
    monkeypatch.setattr(book, "_coordinator", lambda: book.world.cluster.brokers[0])
    monkeypatch.setattr(sharing_book, "extension_of", lambda _: commits)
    topics = {INDIVIDUAL_COMMITS_TOPIC: None}
    monkeypatch.setattr(book.world.cluster.metadata, "topics", topics)
    book._pending()
    assert not wrong(book)
    part.pending[7].insert(2, 2)
    book.in_slices = True
    book._pending()
    assert not wrong(book)
    book.in_slices = False
    book._pending()
    assert "pending, which touch" in wrong(book)[0]
