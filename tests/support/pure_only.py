"""Tests that cannot run on the compiled build: they run on the sources alone.

A compiled class takes no subclass but a compiled one, and no object but its own; a constant of its
module is in the machine code, and what it holds is in no `__slots__`.
"""

from __future__ import annotations

from typing import Final

PURE_ONLY: Final[dict[str, tuple[str, ...]]] = {
    # Extend DelayedOperation, PartitionReader or FetchEntry.
    "tests/mockbroker/fetch/test_incremental.py": (
        "test_answers_equal_those_of_a_walk_over_the_whole_session",
        "test_so_do_those_that_are_made_in_slices",
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
        "test_a_fetch_that_raises_the_high_watermark_tells_and_wakes",
        "test_a_follower_takes_the_high_watermark_over",
        "test_a_follower_takes_the_log_start_over_as_far_as_it_has_committed",
        "test_a_followers_high_watermark_may_go_back",
        "test_what_cannot_be_stored_changes_nothing",
        "test_who_polled_an_idle_partition_was_caught_up_then",
    ),
    # Have something that stands for the context of a request.
    "tests/mockbroker/node/test_slices.py": (
        "test_each_piece_has_its_turn",
        "test_what_waits_goes_on_when_it_is_resumed",
        "test_what_was_dropped_is_not_resumed",
    ),
    # Replace a constant.
    "tests/mockbroker/fetch/test_long_contexts.py": (
        "test_what_a_session_is_told_of_is_taken_in_in_slices_too",
    ),
    "tests/simulation/test_limits.py": ("test_a_run_with_slices_is_the_run_without",),
    "tests/mockbroker/quorum/test_metadata_log.py": ("test_many_records_are_several_batches",),
    # Counts slots.
    "tests/mockbroker/log/test_unified_log.py": ("test_an_empty_log_is_small",),
}
"""By file; without names it is the whole file."""
