"""A run's files take the place of an earlier run's when all are there, and not before."""

from __future__ import annotations

from pathlib import Path

from mockbroker.pipeline.analyze.destination import PARTS, Destination


def write(root: str, text: str) -> None:
    for part in PARTS:
        file = Path(root, part, "file")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def left_in(out: Path) -> dict[str, str]:
    return {str(f.relative_to(out)): f.read_text() for f in out.rglob("*") if f.is_file()}


EARLIER = {"lines/file": "earlier", "tables/file": "earlier", "report.html": "mine"}


def earlier_run(out: Path) -> Destination:
    write(str(out), "earlier")
    (out / "report.html").write_text("mine")
    destination = Destination(str(out))
    destination.begin()
    write(destination.root, "new")
    return destination


def test_until_it_is_kept_an_earlier_run_stays(tmp_path: Path) -> None:
    destination = earlier_run(tmp_path)
    assert left_in(tmp_path).items() > EARLIER.items()
    destination.keep()
    assert left_in(tmp_path) == {**EARLIER, "lines/file": "new", "tables/file": "new"}
    assert not Path(destination.root).exists()


def test_a_run_that_is_dropped_or_was_killed_leaves_nothing(tmp_path: Path) -> None:
    earlier_run(tmp_path).drop()
    assert left_in(tmp_path) == EARLIER
    earlier_run(tmp_path)
    Destination(str(tmp_path)).begin()
    assert left_in(tmp_path) == EARLIER


def test_another_file_system_is_written_in_place() -> None:
    destination = Destination("s3a://bucket/report")
    assert destination.root == destination.out
    for step in (destination.begin, destination.keep, destination.drop):
        step()
