"""One Spark session for a job: on this machine, on a cluster, over Connect, or one that is there.

Called by `command`, and by tests for their shared session. Invariants: what spark-submit or the
user's `--conf` says wins over what is said here; the JVM's own chatter goes to a log file, so that
a mistake stays one line; whether the connector's jars can be had is known before a job begins.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from mockbroker.pipeline.connector import (
    CONNECTOR,
    PACKAGES_CONF,
    WAYS,
    an_earlier,
    connector_conf,
    packages,
)
from mockbroker.pipeline.errors import PipelineError, explain

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark import SparkConf, SparkContext
    from pyspark.sql import DataFrame, SparkSession

MIN_JAVA: Final = 17
_LOG_CONFIG: Final = Path(__file__).with_name("log4j2.properties")
_JAVA_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_RELEASE_VERSION: Final = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)
_JAVA_SECONDS: Final = 30
CONNECT_PORT: Final = 15002
MAX_PORTS: Final = 65536
_LOCAL: Final = re.compile(r"local(\[|$)")
_THREAD: Final = 'Exception in thread "main" '
_REACH_SECONDS: Final = 10.0
_UNREACHED: Final = re.compile(
    r"Host (?!repos\.spark-packages\.org)\S+ not found|Server access error|SERVER ERROR"
)
"""What Ivy says of a repository that does not answer; Spark's second one is not there any more."""

_FIRST_JARS: Final = (
    "spark-catalyst_", "scala-library-", "spark-core_", "spark-sql", "scala-reflect-",
    "log4j-core-", "jackson-databind-", "hadoop-client-api-", "parquet-", "arrow-vector-",
    "spark-network-common_", "netty-common-", "hadoop-client-runtime-", "antlr4-runtime-",
)  # fmt: skip
"""Where most classes are: each is looked for in jar after jar, of which Spark has near 300."""

LOCAL_CONF: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # A byte on the wire is a byte in the file: no table format, no Hive.
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # Not INT96, which Spark writes by default and few others read.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Only columns that are asked for are read; a corrupt file is an error, not a skipped one.
    "spark.sql.files.ignoreCorruptFiles": "false",
}


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Where a job runs. `master` None: what spark-submit says, else `local[*]`.

    `remote` is a Spark Connect address (sc://HOST:PORT); `jars` a folder of connector jars; with
    `resolve` Spark gets them itself, whatever folders there are. A job without a broker needs no
    `connector`; `java` are more options of the JVM that is started here, and `meanwhile` is done in
    a thread while that starts, and in the first worker of a Spark of this machine.
    """

    app: str
    master: str | None = None
    remote: str | None = None
    conf: dict[str, str] = field(default_factory=dict)
    jars: str | None = None
    resolve: bool = False
    connector: bool = True
    java: str = ""
    meanwhile: Callable[[], None] | None = None


def open_session(options: SessionOptions) -> SparkSession:
    """Start or join a session. Raises PipelineError when Spark, Java or the jars are missing."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise PipelineError(
            "PySpark is not installed: pip install 'mockbroker[spark]', or scripts/test spark in"
            " a clone"
        ) from None
    if options.remote:
        return _connect(options)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        check_java()
        if (options.master or "").startswith("spark://"):
            reach_master(str(options.master))
    return _classic(options, submitted=submitted)


def check_java() -> None:
    """Raise PipelineError unless the Java that Spark would start is new enough."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    where = f"JAVA_HOME={home}" if home else "PATH"
    needed = f"Spark needs a JRE of {MIN_JAVA} or newer (Debian: default-jre-headless)"
    if java is None:
        raise PipelineError(f"no java on the {where}: {needed}")
    version = _written_version(java) or _told_version(java, where, needed)
    if version < MIN_JAVA:
        raise PipelineError(f"{java} ({where}) is Java {version}: {needed}")


def _written_version(java: str) -> int | None:
    """What stands in the file `release` of a JDK or JRE, sooner than one starts."""
    try:
        text = (Path(java).resolve().parents[1] / "release").read_text(errors="replace")
    except OSError:
        return None
    found = _RELEASE_VERSION.search(text) if os.access(java, os.X_OK) else None
    return int(found[1]) if found else None


def _told_version(java: str, where: str, needed: str) -> int:
    try:
        done = subprocess.run(  # noqa: S603
            [java, "-version"], capture_output=True, text=True, timeout=_JAVA_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise PipelineError(f"{java} ({where}) does not run: {error}; {needed}") from None
    found = _JAVA_VERSION.search(done.stderr + done.stdout)
    if done.returncode or found is None:
        raise PipelineError(f"{java} ({where}) tells no version; {needed}")
    return int(found[1])


def why_no_spark() -> str | None:
    """Why Spark cannot run here; None where it can."""
    if find_spec("pyspark") is None:
        return "PySpark is not installed"
    try:
        check_java()
    except PipelineError as error:
        return str(error)
    return None


def conf_for(options: SessionOptions, *, submitted: bool) -> dict[str, str]:
    """What the session is started with."""
    conf = dict(LOCAL_CONF)
    if not submitted:
        conf["spark.master"] = options.master or "local[*]"
        conf["spark.driver.extraJavaOptions"] = (
            f"-Dlog4j2.configurationFile={_LOG_CONFIG} {options.java}".rstrip()
        )
        if jars := first_jars():
            conf["spark.driver.extraClassPath"] = jars
        # Who names the connector, as of another release of the same Spark, is believed.
        if options.connector and CONNECTOR not in options.conf.get(PACKAGES_CONF, ""):
            found = {PACKAGES_CONF: packages()} if options.resolve else connector_conf(options.jars)
            conf |= found
    elif options.master:
        conf["spark.master"] = options.master
    if conf.get("spark.master", "").startswith("local"):
        # Its default is for a cluster; a row more than fits is spilled, not lost.
        conf["spark.sql.shuffle.partitions"] = str(max(8, 4 * (os.cpu_count() or 1)))
    # What a user adds stands beside the connector.
    both: dict[str, str] = {
        key: ",".join((conf[key], options.conf[key]))
        for key in (PACKAGES_CONF, "spark.jars")
        if not submitted and key in conf and key in options.conf
    }
    return {**conf, **options.conf, **both}


def first_jars() -> str:
    """Those of Spark's own jars that classes are looked for in first, as a class path."""
    home = os.environ.get("SPARK_HOME")
    if not home:
        found = find_spec("pyspark")
        home = str(Path(found.origin).parent) if found and found.origin else ""
    names = sorted(jar.name for jar in Path(home, "jars").glob("*.jar"))
    first = [name for begin in _FIRST_JARS for name in names if name.startswith(begin)]
    return os.pathsep.join(str(Path(home, "jars", name)) for name in first)


def _classic(options: SessionOptions, *, submitted: bool) -> SparkSession:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAppName(options.app)
    for key, value in conf_for(options, submitted=submitted).items():
        conf.set(key, value)
    if submitted:
        return SparkSession.builder.config(conf=conf).getOrCreate()
    if options.meanwhile is not None:
        Thread(target=options.meanwhile, daemon=True).start()
    while True:
        if conf.contains(PACKAGES_CONF):
            print(f"getting {conf.get(PACKAGES_CONF)}", file=sys.stderr, flush=True)
        try:
            return _started(conf, options.meanwhile)
        except _NotThereError:
            earlier = an_earlier(str(conf.get(PACKAGES_CONF)))
            if not earlier or CONNECTOR in options.conf.get(PACKAGES_CONF, ""):
                raise
            print("it is not there; of the release before", file=sys.stderr)
            conf.set(PACKAGES_CONF, earlier)


class _NotThereError(PipelineError):
    """Spark's repositories answer, and lack a package."""


def _started(conf: SparkConf, meanwhile: Callable[[], None] | None) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    log = tempfile.NamedTemporaryFile(prefix="mockbroker-spark-", suffix=".log")  # noqa: SIM115
    try:
        gateway = cast("Any", launch_gateway)(conf, {"stderr": log.file})
        context = SparkContext(conf=conf, gateway=gateway)
        context.setLogLevel("ERROR")
        choose_python(context)
        if meanwhile and is_local(context) and context.pythonExec == sys.executable:
            Thread(target=_in_worker, args=(context, meanwhile), daemon=True).start()
        return SparkSession(context)
    except (PySparkException, Py4JError) as error:
        told = explain(error) if isinstance(error, Py4JError) else _last_line(log.name)
        text = Path(log.name).read_text(errors="replace")
        log.close()
        if not conf.contains(PACKAGES_CONF):
            raise PipelineError(f"Spark did not start: {told or error}") from None
        is_answered = "unresolved dependency" in text and not _UNREACHED.search(text)
        raise (_NotThereError if is_answered else PipelineError)(
            f"Spark cannot get its Kafka connector: {told or error}; {WAYS}"
        ) from None


def choose_python(context: SparkContext) -> None:
    """Have tasks run on the Python that was named, and on this machine else on this one."""
    python = context.getConf().get("spark.pyspark.python")
    if python:
        # spark-submit would have told it; a session that is made here has to be told.
        context.pythonExec = python
    elif str(context.master).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        # PySpark would take the first python3 of the PATH, which may have other libraries.
        context.pythonExec = sys.executable


def is_connect(of: SparkSession | DataFrame) -> bool:
    """Whether it is of Spark Connect: a client's, to which a server tells little."""
    return "connect" in type(of).__module__


def is_local(context: SparkContext) -> bool:
    """Whether its tasks run on this machine, in the folder that this process was started in."""
    return _LOCAL.match(str(context.master)) is not None


def _in_worker(context: SparkContext, work: Callable[[], None]) -> None:
    """Have a worker started: what asks it first finds it ready."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with suppress(Py4JError, PySparkException, OSError):
        context.parallelize([work], 1).foreach(lambda begin: begin())


def _connect(options: SessionOptions) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    reach(str(options.remote))
    builder = SparkSession.builder.appName(options.app).remote(str(options.remote))
    for key, value in options.conf.items():
        builder = builder.config(key, value)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            session = builder.getOrCreate()
    except ImportError as error:
        raise PipelineError(
            f"--remote needs PySpark's Connect client: pip install 'pyspark[connect]' ({error})"
        ) from None
    except PySparkException as error:
        raise PipelineError(f"--remote {options.remote}: {explain(error)}") from None
    # A setting that the server does not take is a warning there, and a mistake here.
    refused = [str(w.message) for w in told if str(w.message).startswith("Failed to set")]
    if refused:
        session.stop()
        raise PipelineError(f"--conf: {refused[0].partition(chr(10))[0]}")
    return session


def reach(remote: str) -> None:
    """Raise PipelineError unless something listens at sc://HOST[:PORT][/;…].

    PySpark's own client would try for ten minutes.
    """
    parts = urlsplit(remote)
    try:
        port = CONNECT_PORT if parts.port is None else parts.port
    except ValueError:
        port = 0
    if parts.scheme != "sc" or not parts.hostname or not port:
        raise PipelineError(f"--remote: {remote!r} is not sc://HOST:PORT")
    problem = _problem(parts.hostname, port)
    if problem:
        raise PipelineError(f"--remote {remote}: {problem}")


def reach_master(master: str) -> None:
    """Raise PipelineError unless one listens of spark://HOST:PORT[,HOST:PORT…].

    Spark would try for a minute, and end with a stack trace.
    """
    problems = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < MAX_PORTS:
            raise PipelineError(f"--master: {master!r} is not spark://HOST:PORT")
        problems.append(_problem(host, int(port)))
    if all(problems):
        raise PipelineError(f"--master {master}: {problems[0]}")


def _problem(host: str, port: int) -> str:
    """Why nothing answers there; empty when something does."""
    try:
        socket.create_connection((host.strip("[]"), port), _REACH_SECONDS).close()
    except OSError as error:
        return str(error.strerror or error)
    return ""


def _last_line(log: str) -> str:
    """What a JVM that did not start said last of an error, less the trace."""
    lines = [line.strip() for line in Path(log).read_text(errors="replace").splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "... "))]
    telling = [line for line in lines if "rror" in line or "xception" in line]
    last = (telling or lines or [""])[-1]
    return explain(PipelineError(last.removeprefix(_THREAD))) if last else ""
