"""The trace keeps the last notes, and its hash tells two histories apart."""

from __future__ import annotations

from simulation.trace import Trace


def test_only_the_last_notes_are_kept_but_all_count() -> None:
    trace = Trace(kept=2)
    for number in range(3):
        trace.note(float(number), "who", f"what {number}")
    assert [line.split()[-1] for line in trace.last()] == ["1", "2"]
    assert trace.count == 3


def test_the_digest_depends_on_every_note_and_its_time() -> None:
    digests = set()
    for notes in ([(1.0, "a")], [(2.0, "a")], [(1.0, "b")], [(1.0, "a"), (1.0, "a")], []):
        trace = Trace()
        for now_ms, what in notes:
            trace.note(now_ms, "who", what)
        digests.add(trace.digest())
    assert len(digests) == 5
