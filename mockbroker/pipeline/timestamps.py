"""Records with the time of a column: what Spark's Kafka sink alone cannot send.

Its rows have no timestamp. So a header carries it as far as the producer, where an interceptor of a
few lines makes it the record's own and takes the header off. The interceptor's Java source lies
beside this file; Janino, which Spark itself compiles with, makes it a class, and Spark hands the
jar to every executor. Called by `load`, and only when a timestamp column is named.
"""

from __future__ import annotations

import atexit
import io
import shutil
import tempfile
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INTERCEPTOR: Final = "mockbroker.pipeline.TimestampInterceptor"
INTERCEPTOR_CONF: Final = {"kafka.interceptor.classes": INTERCEPTOR}
TIMESTAMP_HEADER: Final = "mockbroker.timestamp"
_SOURCE: Final = files("mockbroker.pipeline") / "TimestampInterceptor.java"


def with_timestamps(records: DataFrame) -> DataFrame:
    """The column `timestamp` as the last header, 8 bytes of milliseconds; null adds none."""
    milliseconds = F.lpad(F.hex(F.unix_millis("timestamp")), 16, "0")
    marked = F.array(
        F.struct(F.lit(TIMESTAMP_HEADER).alias("key"), F.unhex(milliseconds).alias("value"))
    )
    joined = F.concat(F.col("headers"), marked)
    chosen = F.when(F.col("timestamp").isNull(), F.col("headers")).otherwise(joined)
    return records.withColumn("headers", chosen)


def install_interceptor(spark: SparkSession) -> None:
    """Put the interceptor on the class path of driver and executors.

    Executors get it from the driver as long as that lives; its file goes with this process.
    """
    if is_connect(spark):
        raise PipelineError("--timestamp does not work over Spark Connect: submit the job instead")
    context = spark.sparkContext
    jvm = cast("Any", context._jvm)  # noqa: SLF001 -- no public way to the JVM
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    compiler.setParentClassLoader(loader)
    compiler.cook(_SOURCE.read_text())
    compiled = dict(compiler.getBytecodes())
    folder = tempfile.mkdtemp(prefix="mockbroker-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    jar = Path(folder) / "timestamps.jar"
    jar.write_bytes(jar_of({name: bytes(code) for name, code in compiled.items()}))
    cast("Any", context._jsc).addJar(str(jar))  # noqa: SLF001


def jar_of(classes: dict[str, bytes]) -> bytes:
    """A jar of these classes, by their dotted names."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, code in sorted(classes.items()):
            archive.writestr(f"{name.replace('.', '/')}.class", code)
    return out.getvalue()
