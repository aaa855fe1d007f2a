"""Shares of brokers, made each by itself, are all rows of the table."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from mockbroker.pipeline.analyze.dialect import DUCKDB
from mockbroker.pipeline.analyze.embedded import EmbeddedEngine
from mockbroker.pipeline.analyze.journals import Source
from mockbroker.pipeline.analyze.one_broker import KEYS, Share, make, shares
from mockbroker.pipeline.analyze.relations import relations
from mockbroker.pipeline.analyze.table import Options, projection
from mockbroker.pipeline.analyze.tables import TABLES
from tests.mockbroker.pipeline.analyze.test_rotation import Reader, asked, served

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BROKERS = (1, 2, None)


def journals(folder: Path) -> list[str]:
    """Two runs of readers of brokers that are served and passed over, one of each broker."""
    files = []
    for run in ("a", "b"):
        for broker in BROKERS:
            reader = Reader()
            reader.moves(0, 0, 5)
            reader.fetches({**served(0), "fetch_offset": 0}, asked(1, 0), opens=True)
            reader.fetches(served(0), asked(1, 0))
            reader.fetches(asked(0, 5), served(1))
            for line in reader.journal.lines:
                line["run"] = f"00000000000000a{run}"
                if "broker" in line:
                    line["broker"] = broker
            files.append(str(reader.journal.write(folder / f"{run}{broker}")))
    return files


@pytest.mark.parametrize("starts", [(), (("a", 0.0), ("b", 60.0))], ids=["one run", "moved"])
def test_shares_are_the_whole_table(starts: tuple[tuple[str, float], ...], tmp_path: Path) -> None:
    table = TABLES["servings"]
    assert table.of_broker
    sql = Options().fill(projection(table, table.text({"fetches": 1})))
    lines = str(tmp_path / "lines")
    listed = [
        {"side": "base", "run": f"00000000000000a{run}", "starts_s": at} for run, at in starts
    ]
    with closing(EmbeddedEngine()) as engine:
        engine.read([Source("base", journals(tmp_path / "journals"))], lines)
        if listed:
            engine.register("run_starts", pa.Table.from_pylist(listed))
        for name, text in relations(DUCKDB, moved=bool(listed)).items():
            engine.define(name, text)
        expected = engine.query(sql)
        brokers: list[Mapping[str, Any]] = engine.query(
            f"SELECT DISTINCT {KEYS} FROM requests"
        ).to_pylist()
    assert len(brokers) == 2 * len(BROKERS)
    assert expected.num_rows >= 2 * len(brokers)
    share = Share(sql, lines, str(tmp_path / "servings"), listed)
    counts = [make(share, some, number) for number, some in enumerate(shares(brokers, 4))]
    made = parquet.read_table(tmp_path / "servings")
    assert sum(counts) == made.num_rows
    assert sorted(map(repr, made.to_pylist())) == sorted(map(repr, expected.to_pylist()))
    assert len(list((tmp_path / "servings").iterdir())) == 4


def test_there_are_no_more_shares_than_brokers() -> None:
    brokers = [{"side": "base", "run": "a", "broker": number} for number in range(5)]
    assert [len(share) for share in shares(brokers, 2)] == [3, 2]
    assert [len(share) for share in shares(brokers, 9)] == [1] * 5
