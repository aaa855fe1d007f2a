"""The cache of fetch sessions is held against KIP-227: each broken rule is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.fetch.cache import FetchSessionCache, FetchSessionCacheShard
from mockbroker.fetch.incremental import IncrementalFetchContext
from mockbroker.fetch.manager import FetchManager
from simulation.session_audits import SessionAudits
from tests.support.simulated import Simulated

if TYPE_CHECKING:
    from mockbroker.fetch.session import FetchSession

EVICTION_MS = 20


def crowded(slots: int = 8) -> tuple[Simulated, SessionAudits]:
    """A crowd opens sessions while consumers use theirs."""
    simulated = Simulated(
        max_incremental_fetch_session_cache_slots=str(slots),
        min_incremental_fetch_session_eviction_ms=str(EVICTION_MS),
    )
    audits = SessionAudits(simulated.world, simulated.answers, Random(0), EVICTION_MS)
    simulated.plan.on["crowd"] = True
    for actor in (simulated.crowd(), simulated.consumer(), simulated.consumer(17)):
        actor.start()
    simulated.produce_for(400)
    return simulated, audits


def told() -> str:
    violations = crowded()[0].violations
    assert violations
    return violations[0]


@pytest.mark.parametrize("slots", [7, 8, 16, 1000])
def test_a_cache_by_the_rules_is_in_order(slots: int) -> None:
    simulated, audits = crowded(slots)
    assert simulated.violations == []
    assert audits.refused > 50 or slots == 7


def test_a_session_that_takes_any_epoch_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    new_context = FetchManager.new_context

    def obliging(self: FetchManager, request: object, *more: object, **named: object) -> object:
        found = self.cache.get(request.session_id)  # type: ignore[attr-defined]
        if found is not None and request.session_epoch > 0:  # type: ignore[attr-defined]
            request.session_epoch = found.epoch  # type: ignore[attr-defined]
        return new_context(self, request, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(FetchManager, "new_context", obliging)
    assert "is answered 0, not 71" in told()


def test_a_session_that_is_used_and_grows_old_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FetchSessionCache, "touch", lambda *_: None)
    assert "was used at" in told()


def test_who_goes_out_of_turn_or_does_not_go_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    try_evict = FetchSessionCacheShard._try_evict
    monkeypatch.setattr(FetchSessionCacheShard, "_try_evict", lambda *_: False)
    assert "must go at" in told()

    def anyone(self: FetchSessionCacheShard, newcomer: FetchSession, now_ms: int) -> bool:
        return try_evict(self, newcomer, now_ms) or self._evict(
            next(iter(self.sessions.values())), "aged"
        )

    monkeypatch.setattr(FetchSessionCacheShard, "_try_evict", anyone)
    assert "went at" in told()


def test_one_that_goes_although_there_is_room_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FetchSessionCacheShard, "try_create", lambda *_: False)
    assert "had room" in told()


def test_a_superseded_fetch_that_is_answered_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def live() -> Simulated:
        simulated = Simulated()
        SessionAudits(simulated.world, simulated.answers, Random(0), EVICTION_MS)
        simulated.consumer(impatient_chance=1.0, min_bytes=500, keeps_epochs=False).start()
        simulated.producer().start()
        simulated.world.run_for(400)
        return simulated

    assert live().violations == []
    respond = IncrementalFetchContext.respond

    def in_any_epoch(self: IncrementalFetchContext) -> object:
        self._epoch = self.session.epoch
        return respond(self)

    monkeypatch.setattr(IncrementalFetchContext, "respond", in_any_epoch)
    assert any("although its session went on" in one for one in live().violations)


def test_a_session_that_stays_beyond_its_limit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def idle() -> tuple[Simulated, SessionAudits]:
        simulated = Simulated(
            max_incremental_fetch_session_cache_slots="8",
            min_incremental_fetch_session_eviction_ms=str(EVICTION_MS),
        )
        audits = SessionAudits(simulated.world, simulated.answers, Random(0), EVICTION_MS)
        simulated.world.run_for(1_000)
        return simulated, audits

    simulated, audits = idle()
    assert simulated.violations == []
    assert audits.came == 6
    begin = FetchSessionCacheShard.__init__

    def patient(self: FetchSessionCacheShard, *arguments: object) -> None:
        begin(self, *arguments)  # type: ignore[arg-type]
        self._eviction_ms += 1

    monkeypatch.setattr(FetchSessionCacheShard, "__init__", patient)
    assert any("must go at" in one for one in idle()[0].violations)
