"""Tests that cannot run on the compiled build: they run on the sources alone.

A compiled class takes no subclass but a compiled one, and no object but its own, and what it holds
is in no `__slots__`: tests that need that are named here. A constant, a function or a method is in
the machine code of its module: a test that replaces one by `monkeypatch` is skipped as it does.
"""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import Any, Final

import pytest

PURE_ONLY: Final[dict[str, tuple[str, ...]]] = {
    # Extend DelayedOperation, PartitionReader, FetchEntry or RequestServed.
    "tests/mockbroker/fetch/test_incremental.py": (
        "test_answers_equal_those_of_a_walk_over_the_whole_session",
        "test_so_do_those_that_are_made_in_slices",
    ),
    # Reads the sources that are compiled.
    "tests/mockbroker/pipeline/analyze/test_line_schema.py": (
        "test_what_the_broker_measures_may_have_a_fraction",
    ),
    "tests/mockbroker/purgatory/test_purgatory.py": (),
    "tests/mockbroker/purgatory/test_purgatory_cost.py": (),
    "tests/mockbroker/replica/test_hosted_log.py": (
        "test_watchers_are_told_in_the_order_in_which_they_came_until_they_leave",
    ),
    "tests/mockbroker/replica/test_in_sync.py": (
        "test_idle_polls_of_a_session_count_when_the_leader_goes_on",
    ),
    "tests/mockbroker/replica/test_log_upkeep.py": ("test_a_log_start_that_moved_is_told",),
    "tests/mockbroker/replica/test_manager.py": (
        "test_a_shutdown_completes_what_is_parked_everywhere",
        "test_the_drain_pokes_each_ready_partition_once_in_its_order_produces_first",
    ),
    "tests/mockbroker/replica/test_partition.py": (
        "test_a_lost_lead_wakes_and_a_new_epoch_alone_does_not",
        "test_a_moved_log_start_marks_but_wakes_nobody",
        "test_a_new_segment_is_told_with_the_one_that_was_left",
        "test_a_refused_or_duplicate_append_tells_nobody",
        "test_appends_mark_watchers_and_make_the_partition_ready",
        "test_deletion_marks_wakes_and_refuses_appends",
        "test_the_high_watermark_waits_for_the_in_sync_set",
    ),
    "tests/mockbroker/replica/test_partition_replicated.py": (
        "test_a_batch_around_where_the_leaders_log_begins_displaces_what_it_has_deleted",
        "test_a_fetch_that_raises_the_high_watermark_tells_and_wakes",
        "test_a_follower_takes_the_high_watermark_over",
        "test_a_follower_takes_the_log_start_over_as_far_as_it_has_committed",
        "test_a_followers_high_watermark_may_go_back",
        "test_what_cannot_be_stored_changes_nothing",
        "test_who_polled_an_idle_partition_was_caught_up_then",
    ),
    "tests/simulation/cluster/test_watchers.py": (
        "test_a_request_that_is_told_twice_and_metrics_that_count_less_are_noticed",
    ),
    # Have something that stands for the context of a request.
    "tests/mockbroker/node/test_slices.py": (
        "test_each_piece_has_its_turn",
        "test_what_waits_goes_on_when_it_is_resumed",
        "test_what_was_dropped_is_not_resumed",
    ),
    # Replace a constant, or a class, by `unittest.mock`.
    "tests/mockbroker/log/test_validator.py": (
        "test_of_a_refused_batch_no_record_is_told_before_somebody_asks",
    ),
    "tests/mockbroker/fetch/test_long_contexts.py": (
        "test_what_a_session_is_told_of_is_taken_in_in_slices_too",
    ),
    # Count what the interpreter does: there is little of it.
    "tests/mockbroker/network/test_server.py": (
        "test_the_extension_costs_an_ordinary_client_one_look",
    ),
    "tests/property/test_costly_frames.py": ("test_more_work_than_it_may_take_is_seen",),
    "tests/simulation/test_coverages.py": (),
    # Put defects into the broker, to try those who are to notice.
    "tests/seeds/test_cluster_group_mutations.py": (),
    "tests/seeds/test_cluster_mutations.py": (),
    "tests/seeds/test_mutations.py": (),
    # Counts slots.
    "tests/mockbroker/log/test_unified_log.py": ("test_an_empty_log_is_small",),
}
"""By file; without names it is the whole file."""


def _is_compiled(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module.startswith("mockbroker") and file.endswith(EXTENSION_SUFFIXES[0])


def _is_in_machine_code(target: object, name: str) -> bool:
    if isinstance(target, ModuleType):
        return _is_compiled(target.__name__)
    if isinstance(target, str):
        return _is_compiled(target.rpartition(".")[0])
    owner = target if isinstance(target, type) else type(target)
    return _is_compiled(owner.__module__) and callable(getattr(owner, name, None))


def skip_what_replaces_machine_code() -> None:
    """From now on a test that replaces a part of a compiled module is skipped at that point."""
    replace = pytest.MonkeyPatch.setattr

    def replace_or_skip(
        patch: pytest.MonkeyPatch, target: Any, name: Any, *value: Any, **options: Any
    ) -> None:
        if _is_in_machine_code(target, name):
            pytest.skip(f"replaces {name} of {target}, which is compiled")
        replace(patch, target, name, *value, **options)

    pytest.MonkeyPatch.setattr = replace_or_skip  # type: ignore[method-assign, assignment]
