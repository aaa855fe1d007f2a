"""What Spark and the JVM raise, as one line."""

from __future__ import annotations

import pytest

from mockbroker.pipeline.errors import MAX_LINE_CHARS, condition_of, explain, file_of


class RaisedError(Exception):
    def __init__(self, text: str, condition: str | None = None) -> None:
        super().__init__(text)
        self.condition = condition

    def getCondition(self) -> str | None:  # noqa: N802 -- PySpark's name
        return self.condition


def test_the_error_class_is_put_in_words() -> None:
    error = RaisedError(
        "[PATH_NOT_FOUND] Path does not exist: file:/no. SQLSTATE: 42K03\n\nJVM stacktrace:\n at x",
        "PATH_NOT_FOUND",
    )
    assert (
        explain(error) == "no such file or folder: [PATH_NOT_FOUND] Path does not exist: file:/no."
    )


def test_the_innermost_cause_speaks_and_the_file_is_named() -> None:
    error = RaisedError(
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/bad.parquet.\n"
        "\tat org.apache.Spark\n"
        "Caused by: java.io.IOException: could not read\n"
        "\tat java.Thing\n"
        "Caused by: java.lang.RuntimeException: bad.parquet is not a Parquet file\n\tat x",
        "FAILED_READ_FILE.NO_HINT",
    )
    line = explain(error)
    assert line.startswith("a file cannot be read")
    assert "bad.parquet is not a Parquet file" in line
    assert "file:/bad.parquet" in line
    assert "\n" not in line


def test_a_bare_class_name_is_kept() -> None:
    assert explain(RaisedError("java.util.NoSuchElementException")) == "NoSuchElementException"


@pytest.mark.parametrize("size", [10, 1000])
def test_a_line_is_never_longer_than_a_terminal_can_bear(size: int) -> None:
    assert len(explain(RaisedError("x" * size))) == min(size, MAX_LINE_CHARS)


def test_the_condition_by_both_of_its_names_and_the_file() -> None:
    class OldError(Exception):
        def getErrorClass(self) -> str:  # noqa: N802 -- PySpark's name before 4.0
            return "PATH_NOT_FOUND"

    assert condition_of(OldError()) == condition_of(RaisedError("", "PATH_NOT_FOUND"))
    assert condition_of(ValueError()) == ""
    text = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/a/b.csv.\n at x"
    assert file_of(RaisedError(text)) == "file:/a/b.csv"
    assert file_of(RaisedError("nothing")) is None


def test_what_a_python_worker_says_last_is_the_error() -> None:
    trace = (
        "An exception was thrown from the Python worker. Please see the stack trace below.\n"
        "Traceback (most recent call last):\n"
        '  File "/spark/worker.py", line 2028, in main\n'
        "    func, profiler = read_udfs(pickleSer, infile)\n"
        "                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "{}\n"
        "\n\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:581)\n"
    )
    missing = trace.format("ModuleNotFoundError: No module named 'pyarrow'")
    assert explain(Exception(missing)) == (
        "Python of an executor: ModuleNotFoundError: No module named 'pyarrow';"
        " --conf spark.pyspark.python=PATH, or PYSPARK_PYTHON, says which Python"
    )
    assert (
        explain(Exception(trace.format("ValueError: 3"))) == "Python of an executor: ValueError: 3"
    )
