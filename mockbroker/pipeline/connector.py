"""Where the jars of Spark's Kafka connector and of Avro are, which PySpark's own package lacks.

Called by `session` before Spark starts, and by `command` for the job `jars`. The first that is
there is taken: `--jars DIR`, the variable MOCKBROKER_SPARK_JARS, Spark's own folder of jars, the
folder that `mockbroker pipeline jars` fills, a clone's. Where there is none, Spark resolves them
itself (`spark.jars.packages`), in the version that PySpark has.
"""

from __future__ import annotations

import os
import re
import shutil
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.summary import Summary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JARS_VARIABLE: Final = "MOCKBROKER_SPARK_JARS"
PACKAGES_CONF: Final = "spark.jars.packages"
WAYS: Final = (
    "where there is a network: mockbroker pipeline jars --to DIR; then --jars DIR or"
    f" {JARS_VARIABLE}=DIR; --conf spark.jars.repositories=URL names a mirror of Maven Central,"
    f" --conf {PACKAGES_CONF}=COORDINATES the connector of another release of this Spark"
)
_CLONE: Final = Path(__file__).resolve().parents[2]
CONNECTOR: Final = "spark-sql-kafka-0-10_"
_AVRO: Final = "spark-avro_"
_FIRST_WITH_SCALA_2_13: Final = 4
_JAR_VERSION: Final = re.compile(r"-\d[^-]*(?:-[^-]*)?\.jar$")


def connector_conf(folder: str | None) -> dict[str, str]:
    """The setting of Spark that brings the jars; empty when it has them.

    Raises PipelineError when a folder that was named holds none.
    """
    named = folder or os.environ.get(JARS_VARIABLE)
    if named:
        jars = _jars_in(Path(named))
        if not jars:
            option = "--jars" if folder else JARS_VARIABLE
            raise PipelineError(f"{option}: no jar in {named}; {WAYS}")
        return {"spark.jars": ",".join(jars)}
    if any(CONNECTOR in jar for jar in _jars_in(spark_jars())):
        return {}
    for found in (default_folder(), _CLONE / ".tools" / f"spark-{spark_version()}" / "jars"):
        jars = _jars_in(found)
        if any(CONNECTOR in jar for jar in jars):
            return {"spark.jars": ",".join(jars)}
    return {PACKAGES_CONF: packages()}


def packages(spark: str = "") -> str:
    """Maven's coordinates of the connector and of Avro, for this Spark, or the one installed."""
    spark = spark or spark_version()
    scala = "2.13" if int(spark.partition(".")[0]) >= _FIRST_WITH_SCALA_2_13 else "2.12"
    names = (f"{name}{scala}" for name in (CONNECTOR, _AVRO))
    return ",".join(f"org.apache.spark:{name}:{spark}" for name in names)


def an_earlier(named: str) -> str:
    """These packages with ours of the patch release before; empty where there is none.

    Repositories may not have the newest yet, and those of one minor release fit each other.
    """
    found = re.search(rf":{re.escape(CONNECTOR)}[\d.]+:(\d+\.\d+)\.(\d+)(?=,|$)", named)
    if found is None or found[2] == "0":
        return ""
    release, earlier = f"{found[1]}.{found[2]}", f"{found[1]}.{int(found[2]) - 1}"
    return named.replace(packages(release), packages(earlier))


def spark_version() -> str:
    """PySpark's version, without importing it."""
    return version("pyspark")


def spark_jars() -> Path:
    """The folder of jars of the Spark that a session would start."""
    home = os.environ.get("SPARK_HOME")
    if home:
        return Path(home) / "jars"
    found = find_spec("pyspark")
    return Path(str(found and found.origin)).parent / "jars"


def default_folder() -> Path:
    """Where `mockbroker pipeline jars` puts them for all jobs of this user and this PySpark."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "mockbroker" / f"spark-{spark_version()}"


def _jars_in(folder: Path) -> list[str]:
    return sorted(str(jar) for jar in folder.glob("*.jar"))


def run_jars(spark: SparkSession, folder: str | None) -> Summary:
    """Copy what the session was started with to a folder, less what Spark has itself."""
    target = Path(folder) if folder else default_folder()
    own = {_artifact(jar) for jar in _jars_in(spark_jars())}
    jars = [
        Path(jar.removeprefix("file:"))
        for jar in spark.sparkContext.getConf().get("spark.jars", "").split(",")
        if jar and _artifact(jar) not in own
    ]
    if not jars:
        raise PipelineError(f"Spark resolved no jar of its Kafka connector; {WAYS}")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for jar in jars:
            shutil.copyfile(jar, target / _plain_name(jar.name))
    except OSError as error:
        raise PipelineError(f"--to {target}: {error.strerror or error}") from None
    size = sum(jar.stat().st_size for jar in jars)
    summary = Summary("jars", len(jars), size, f"to {target}", unit="files")
    if folder:
        summary.notes.append(f"use them with --jars {folder} or {JARS_VARIABLE}={folder}")
    return summary


def _plain_name(name: str) -> str:
    """Ivy's ORGANISATION_ARTIFACT-VERSION.jar as Maven's ARTIFACT-VERSION.jar."""
    organisation, _, rest = name.partition("_")
    ivys = "." in organisation or rest.startswith(f"{organisation}-")
    return rest if rest and ivys else name


def _artifact(jar: str) -> str:
    return _JAR_VERSION.sub("", _plain_name(jar.rpartition("/")[2]))
