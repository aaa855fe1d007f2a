"""A broker of a topology under each scenario."""

from __future__ import annotations

import json
from dataclasses import asdict

from mockbroker.what_if.simulate import run_task
from mockbroker.what_if.topology import SCENARIOS, Topology, part_of

NAMES = [each.name for each in SCENARIOS]


def task(topology: Topology, *scenarios: str) -> dict[str, object]:
    return {"topology": topology.values(), "broker": 1, "scenarios": scenarios or NAMES}


SMALL = Topology(brokers=3, partitions=60, consumers=3, change_rate=0.1, seconds=20.0)


def test_sessions_spare_bytes_and_looks_and_kip_1166_spares_time() -> None:
    _, limits, sessions, marks = run_task(task(SMALL))
    for who in ("followers", "readers"):
        assert sessions[who]["request_bytes"] < limits[who]["request_bytes"] / 2
        assert sessions[who]["looked_at"] < limits[who]["looked_at"] / 3
        assert sessions[who]["records_bytes"] == limits[who]["records_bytes"]
    assert max(marks["delays"]["follower_high_watermark"]) < max(
        sessions["delays"]["follower_high_watermark"]
    )


def test_what_goes_in_and_out_is_plain() -> None:
    told = run_task(json.loads(json.dumps(task(SMALL, "kip-227"))))
    assert json.loads(json.dumps(told))[0]["partitions"] == 20


def test_the_same_task_gives_the_same_figures() -> None:
    assert run_task(task(SMALL, "kip-1166")) == run_task(task(SMALL, "kip-1166"))


def test_a_part_that_is_given_is_taken() -> None:
    given = {**task(SMALL, "kip-227"), "part": asdict(part_of(SMALL, 1))}
    assert run_task(given) == run_task(task(SMALL, "kip-227"))


def test_limits_bound_answers_of_those_who_catch_up() -> None:
    backlog = Topology(
        brokers=2,
        partitions=40,
        replication=2,
        consumers=1,
        change_rate=0.0,
        batch_bytes=10_000,
        backlog_bytes=50_000,
        seconds=5.0,
        fetch_max_bytes=100_000,
        replica_max_bytes=100_000,
    )
    none, limits = run_task(task(backlog, "none", "kip-74"))
    assert none["largest_bytes"] > 1_000_000
    assert limits["largest_bytes"] < 105_000
    for who in ("followers", "readers"):
        # An answer that is cut at its limit ends within a batch, which comes again.
        assert none[who]["records_bytes"] <= limits[who]["records_bytes"]
        assert limits[who]["polls"] > none[who]["polls"]


def test_without_traffic_nothing_is_looked_at() -> None:
    still = Topology(brokers=3, partitions=300, consumers=3, change_rate=0.0)
    (told,) = run_task(task(still, "kip-227"))
    assert told["followers"]["looked_at"] == 2 * 200  # the two full fetches, on both ends of a wait
    assert told["followers"]["polls"] > 200
