"""Files of lines that one writer begins and another goes on with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mockbroker.server.journal_lines import LineFiles

if TYPE_CHECKING:
    from pathlib import Path


def files(directory: Path, file_bytes: int) -> LineFiles:
    return LineFiles(str(directory), "ab", {"cluster_id": "c"}, 1_000, file_bytes)


def test_another_goes_on_where_the_first_has_ended(tmp_path: Path) -> None:
    first, second = files(tmp_path, 400), files(tmp_path, 400)
    first.begin()
    first.write(first.placed({"kind": "fault"}, 1, 2.5, 1_002))
    first.flush()
    first.close()
    second.go_on(first.number, first.written)
    for seq in range(2, 6):
        second.write(second.placed({"kind": "fault"}, seq, 2.5, 1_002))
    second.write(second.dropped(3, 8, 7.0))
    second.flush()
    second.close()
    found = [
        [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for path in sorted(tmp_path.iterdir())
    ]
    assert len(found) > 1
    assert [lines[0]["kind"] for lines in found] == ["run"] * len(found)
    assert [lines[0]["file"] for lines in found] == list(range(len(found)))
    told = [line for lines in found for line in lines[1:]]
    assert [line["seq"] for line in told] == [1, 2, 3, 4, 5, 8]
    assert (told[-1]["lines"], told[-1]["wall_ms"]) == (3, 1_007)


def test_nothing_is_written_before_it_is_flushed(tmp_path: Path) -> None:
    written = files(tmp_path, 1 << 20)
    written.begin()
    (path,) = tmp_path.iterdir()
    size = path.stat().st_size
    written.write(written.placed({"kind": "fault"}, 1, 2.5, 1_002))
    assert path.stat().st_size == size
    written.flush()
    assert path.stat().st_size == written.written > size
    written.close()
