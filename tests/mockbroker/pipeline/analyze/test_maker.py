"""Tables made where what they read is: on the engine, or of rows that are here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from mockbroker.pipeline.analyze import maker as maker_module
from mockbroker.pipeline.analyze.embedded import EmbeddedEngine
from mockbroker.pipeline.analyze.maker import Maker
from mockbroker.pipeline.analyze.table import Options, Part, Table
from mockbroker.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

    from mockbroker.pipeline.analyze.engine import Ask

NUMBERS = Table(
    "numbers", "n BIGINT", "SELECT range AS n FROM range(10)", "n DESC", large=True, needs="some"
)
SUM = Table("sums", "total BIGINT", "SELECT sum(n) AS total FROM numbers", of=("numbers",))
STEP = Table("step", "n BIGINT", "SELECT 1 AS n", kept=False)


@pytest.fixture
def engine() -> Iterator[EmbeddedEngine]:
    opened = EmbeddedEngine()
    yield opened
    opened.close()


@pytest.mark.parametrize("large", [False, True])
def test_a_large_table_is_the_engines_to_write(
    engine: EmbeddedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, large: bool
) -> None:
    monkeypatch.setattr(maker_module, "PAGE_ROWS", 3)
    maker = Maker(engine, str(tmp_path), Options(), large=large)
    maker.facts["some"] = 1
    maker.make(NUMBERS, SUM, STEP)
    assert ("numbers" in maker.rows) != large
    assert maker.counts == {"numbers": 10, "sums": 1, "step": 1}
    assert maker.page_rows(NUMBERS) == [{"n": 9}, {"n": 8}, {"n": 7}]
    assert maker.rows["sums"].to_pylist() == [{"total": 45}]
    assert parquet.read_table(tmp_path / "tables" / "numbers").num_rows == 10
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == ["numbers", "sums"]


def test_the_longest_text_is_first_and_what_reads_others_when_they_are_there(
    engine: EmbeddedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    answer = EmbeddedEngine.answer

    def note(self: EmbeddedEngine, asks: Sequence[Ask]) -> list[pa.Table | int]:
        asked.append([ask.sql for ask in asks])
        return answer(self, asks)

    monkeypatch.setattr(EmbeddedEngine, "answer", note)
    maker = Maker(engine, str(tmp_path), Options(), large=False)
    maker.facts["some"] = 1
    maker.make(SUM, STEP, NUMBERS)
    # Of rows that are here no engine is asked.
    assert [[STEP.sql in sql for sql in at_once] for at_once in asked] == [[False, True]]
    assert maker.rows["sums"].to_pylist() == [{"total": 45}]


def test_what_fails_ends_it(engine: EmbeddedEngine, tmp_path: Path) -> None:
    maker = Maker(engine, str(tmp_path), Options(), large=False)
    with pytest.raises(PipelineError, match="nowhere"):
        maker.make(SUM, Table("numbers", "n BIGINT", "SELECT n FROM nowhere"), STEP)


def test_of_what_journals_do_not_have_nothing_is_asked(
    engine: EmbeddedEngine, tmp_path: Path
) -> None:
    maker = Maker(engine, str(tmp_path), Options(), large=True)
    maker.make(NUMBERS)
    assert maker.counts == {"numbers": 0}
    assert parquet.read_table(tmp_path / "tables" / "numbers").schema.names == ["n"]


def test_a_part_is_asked_from_so_many_lines_on(engine: EmbeddedEngine, tmp_path: Path) -> None:
    parts = (Part("SELECT 1 AS n", {"some": 2}), Part("SELECT 2 AS n", {"others": 1}))
    table = Table("of_parts", "n BIGINT", "", parts=parts)
    for facts, rows in (({"some": 1}, []), ({"some": 2}, [1]), ({"some": 2, "others": 3}, [1, 2])):
        maker = Maker(engine, str(tmp_path), Options(), large=False)
        maker.facts |= facts
        maker.make(table)
        assert maker.rows["of_parts"]["n"].to_pylist() == rows
