"""Topics to tables of Delta and Iceberg and back, with the settings that docs/pipeline.md names."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

import pyspark
import pytest

from mockbroker import MockBroker
from tests.spark.conftest import ROOT, run_there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JARS: Final = ROOT / ".tools" / "spark-4.0.0" / "tables"
"""By `scripts/spark fetch`: the packages that the page has Spark resolve itself."""
PACKAGES: Final = "spark.jars.packages"
ROWS: Final = 200

pytestmark = pytest.mark.skipif(
    not pyspark.__version__.startswith("4.0."), reason="these libraries are for PySpark 4.0"
)


def settings(warehouse: Path) -> dict[str, str]:
    """Those of the page, with jars that are here."""
    page = (ROOT / "docs" / "pipeline.md").read_text("utf-8")
    section = page.partition("\n## Delta and Iceberg\n")[2].partition("\n## ")[0]
    conf: dict[str, str] = {"spark.driver.extraClassPath": f"{JARS}/*"}
    for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL):
        words = shlex.split(block)
        told = dict(
            words[at + 1].split("=", 1) for at, word in enumerate(words) if word == "--conf"
        )
        _, artifact, version = told.pop(PACKAGES).split(":")
        assert (JARS / f"{artifact}-{version}.jar").is_file()
        conf |= told
    conf["spark.sql.catalog.lake.warehouse"] = str(warehouse)
    return conf


def records(broker: MockBroker, topic: str) -> dict[bytes | None, bytes | None]:
    return {record.key: record.value for record in broker.topic(topic).records()}


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker(topics={"orders": 3}) as running:
        for number in range(ROWS):
            value = None if number % 10 == 0 else f"v{number}"
            running.topic("orders").put(value, key=f"k{number}", partition=number % 3)
        yield running


def test_what_went_into_a_table_comes_back(broker: MockBroker, tmp_path: Path) -> None:
    columns = ["--create", "3", "--key", "key", "--value", "value"]
    jobs: list[list[str]] = []
    for name, table in (("delta", str(tmp_path / "orders")), ("iceberg", "lake.db.orders")):
        rest = [table, "--format", name, "--bootstrap", broker.bootstrap_servers]
        jobs.append(["dump", *rest, "--topic", "orders"])
        jobs.append(["load", *rest, "--topic", name, *columns])
    told = run_there({"conf": settings(tmp_path / "warehouse")}, *jobs)
    assert [one["rows"] for one in told] == [ROWS] * 4
    assert records(broker, "delta") == records(broker, "iceberg") == records(broker, "orders")
    assert list((tmp_path / "orders" / "_delta_log").glob("*.json"))
    assert list((tmp_path / "warehouse" / "db" / "orders").rglob("*.metadata.json"))
