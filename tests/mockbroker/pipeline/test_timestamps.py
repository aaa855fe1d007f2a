"""The interceptor: compiled from its source, a record's time is that of its column."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.records import WRITE_SCHEMA
from mockbroker.pipeline.timestamps import install_interceptor, jar_of, with_timestamps

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

# A session that compiles nothing, and has nobody to hand the jar to.
_INSTALL = """
from unittest.mock import MagicMock
from mockbroker.pipeline.timestamps import install_interceptor
spark = MagicMock()
compiler = spark.sparkContext._jvm.org.codehaus.janino.SimpleCompiler.return_value
compiler.getBytecodes.return_value = {"a.B": b"code"}
added = []
spark.sparkContext._jsc.addJar = added.append
install_interceptor(spark)
assert open(added[0], "rb").read(2) == b"PK"
"""


def test_a_jar_holds_the_classes() -> None:
    with zipfile.ZipFile(io.BytesIO(jar_of({"a.b.C": b"code"}))) as archive:
        assert archive.read("a/b/C.class") == b"code"


def test_it_is_refused_over_connect() -> None:
    session = type("Session", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(PipelineError, match="--timestamp does not work over Spark Connect"):
        install_interceptor(session)


def test_no_file_outlives_its_process(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", _INSTALL], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spark
def test_the_last_header_carries_it(spark: SparkSession) -> None:
    at = datetime(2026, 1, 31, 12, tzinfo=UTC)
    before = datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)
    rows = [
        (b"1", None, [("h", b"x")], None, at),
        (b"2", None, [], None, None),
        (b"3", None, [], None, before),
    ]
    found = with_timestamps(spark.createDataFrame(rows, WRITE_SCHEMA)).orderBy("key").collect()
    kept, marked = found[0]["headers"]
    assert (kept["key"], bytes(kept["value"])) == ("h", b"x")
    assert int.from_bytes(marked["value"], "big", signed=True) == int(at.timestamp() * 1000)
    assert found[1]["headers"] == []
    assert int.from_bytes(found[2]["headers"][0]["value"], "big", signed=True) == -1000
