"""Members that share a partition of three brokers, against plain sets of offsets.

Whatever order commits, fetches, crashes, moves of leader and coordinator, rebalances, transactions,
positions, deletions and time come in, by ranges of keys or by leases: nothing that was written is
lost, nothing that was committed comes again, and a key's records are given in order to one member
of a generation. What was answered is told by whoever coordinates next, and nothing else. Ten
thousand runs take ten minutes of processor time:

    SHARING_RUNS=10000 pytest --timeout 0 tests/property/test_sharing.py
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.shared_deletions import DeletingWorld
from tests.support.shared_model import KEYS
from tests.support.shared_world import LEASE_MS

if TYPE_CHECKING:
    from tests.support.shared_world import Mode

    Step = tuple[str, tuple[Any, ...], dict[str, Any]]
    Steps = st.SearchStrategy[Step]

RUNS = int(os.environ.get("SHARING_RUNS", "25"))
MEMBER, PRODUCER, OFFSET = st.integers(0, 2), st.integers(0, 1), st.integers(0, 24)
PICKS = st.one_of(st.just((1 << 13) - 1), st.integers(1, (1 << 16) - 1))
SOME_KEYS = st.lists(st.sampled_from(KEYS), min_size=1, max_size=4)


def step(name: str, *args: st.SearchStrategy[object], **named: st.SearchStrategy[object]) -> Steps:
    """A method of the world, and what it is called with."""
    return st.tuples(st.just(name), st.tuples(*args), st.fixed_dictionaries(named))


FETCH = step("fetch", MEMBER, st.integers(1, 5))
COMMIT = step("commit", MEMBER, PICKS)
STEPS = (
    FETCH,
    FETCH,
    FETCH,
    COMMIT,
    COMMIT,
    COMMIT,
    step("stage", MEMBER, PRODUCER, PICKS),
    step("stage", MEMBER, PRODUCER, PICKS),
    step("end", PRODUCER, commit=st.booleans()),
    step("write", SOME_KEYS),
    step("write_in_transaction", SOME_KEYS, commit=st.booleans()),
    step("rebalance", st.integers(1, 3)),
    step("release", MEMBER, PICKS),
    step("wait", st.sampled_from((LEASE_MS // 2, LEASE_MS))),
    step("crash", of_leader=st.booleans()),
    step("move", of_leader=st.booleans()),
    step("set_position", MEMBER, OFFSET),
    step("reset", OFFSET),
    step("delete_offsets"),
    step("delete_records", OFFSET),
)


SOME_ARE_DONE: Final[list[Step]] = [("fetch", (0, 3), {}), ("commit", (0, 0b110), {})]
"""Behind a record that is not, so the position is where it was."""
ALL_ARE_DONE: Final[list[Step]] = [
    ("fetch", (0, 1), {}),
    ("stage", (0, 0, 0b1), {}),
    ("end", (0,), {"commit": True}),
]
"""By a transaction, which moves the position while nobody fetches."""
ONE_IS_PASSED: Final[list[Step]] = [
    ("fetch", (0, 1), {}),
    ("commit", (0, 0b10), {}),
    ("set_position", (0, 1), {}),
]
"""By a member's position, which takes in the range behind it."""


@example("leases", 2, [*SOME_ARE_DONE, ("delete_offsets", (), {})])
@example("leases", 2, [*SOME_ARE_DONE, ("reset", (0,), {})])
@example("leases", 1, [*ALL_ARE_DONE, ("delete_offsets", (), {})])
@example("leases", 1, [*ALL_ARE_DONE, ("reset", (0,), {})])
@example("leases", 1, [*ONE_IS_PASSED, ("delete_offsets", (), {})])
@example("leases", 1, [*ONE_IS_PASSED, ("reset", (0,), {})])
@settings(max_examples=RUNS)
@given(
    st.sampled_from(("ranges", "leases")),
    st.integers(1, 3),
    st.lists(st.one_of(*STEPS), max_size=16),
)
def test_nothing_is_lost_and_nothing_committed_comes_again(
    mode: Mode, members: int, steps: list[Step]
) -> None:
    world = DeletingWorld(mode, members)
    for name, args, named in steps:
        world.look()
        getattr(world, name)(*args, **named)
        world.look()
        world.check()
    world.finish()
