"""Plans come from the seed alone, and the network cuts bytes without losing any."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from simulation.faults import KINDS, NetworkFaults, SwarmPlan


def test_one_seed_gives_one_plan() -> None:
    assert str(SwarmPlan(Random("x"))) == str(SwarmPlan(Random("x")))


def test_every_kind_of_fault_is_on_somewhere_and_off_somewhere() -> None:
    plans = [SwarmPlan(Random(seed)) for seed in range(100)]
    for kind in KINDS:
        assert {plan.on[kind] for plan in plans} == {True, False}
    assert any(not any(plan.on.values()) for plan in plans)


def test_a_perfect_network_keeps_data_whole_and_takes_no_time() -> None:
    network = NetworkFaults()
    rng = Random(0)
    assert network.pieces(b"abc", rng) == [b"abc"]
    assert network.delay_ms(rng) == 0
    assert not network.loses(rng)


@given(st.binary(min_size=0, max_size=20), st.integers())
def test_pieces_make_the_whole(data: bytes, seed: int) -> None:
    assert b"".join(NetworkFaults(split_chance=1.0).pieces(data, Random(seed))) == data


def test_delays_and_losses_stay_within_their_rates() -> None:
    network = NetworkFaults(max_delay_ms=3.0, lose_chance=0.5)
    rng = Random(0)
    assert all(0 <= network.delay_ms(rng) <= 3.0 for _ in range(100))
    assert 20 < sum(network.loses(rng) for _ in range(100)) < 80
