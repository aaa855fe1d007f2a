"""A crowd fills the cache and evicts; a thief closes what is not its own."""

from __future__ import annotations

from tests.support.simulated import Simulated


def test_a_crowd_fills_the_cache_and_evicts() -> None:
    simulated = Simulated(max_incremental_fetch_session_cache_slots="8")
    simulated.plan.on["crowd"] = True
    crowd = simulated.crowd()
    crowd.start()
    simulated.world.run_for(2_000)
    cache = simulated.world.broker.services.fetch.cache
    assert cache.num_sessions == 8
    assert cache.evictions > 0
    assert any(s.privileged for shard in cache.shards for s in shard.sessions.values())
    assert simulated.violations == []
    crowd.stop()
    simulated.world.run_for(100)
    before = simulated.answers.answers
    simulated.world.run_for(1_000)
    assert simulated.answers.answers == before


def test_a_thief_closes_sessions_of_others() -> None:
    simulated = Simulated()
    simulated.plan.on["thief"] = True
    consumer = simulated.consumer()
    consumer.closed_by_others = True
    consumer.start()
    simulated.world.run_for(50)
    first = consumer.session.session_id
    assert first
    simulated.crowd().start()
    simulated.world.run_for(200)
    assert consumer.session.session_id != first
    assert simulated.violations == []
