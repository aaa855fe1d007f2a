"""Every way in which a job refuses or fails, as one line; raised by all of this room.

`PipelineError` is the user's mistake or the world's failure; `command` prints it and ends with
status 2. `explain` makes the same line of what Spark raises: the innermost cause, named by its
error class where it has one, with the path or column that Spark tells.
"""

from __future__ import annotations

import re
from typing import Final

MAX_LINE_CHARS: Final = 400

# The error classes of Spark that a user's input leads to, and how a person would put it.
_CONDITIONS: Final = {
    "PATH_NOT_FOUND": "no such file or folder",
    "PATH_ALREADY_EXISTS": "the output exists already",
    "UNRESOLVED_COLUMN": "no such column",
    "FIELD_NOT_FOUND": "no such column",
    "CANNOT_MERGE_SCHEMAS": "the files' schemas differ and cannot be merged",
    "FAILED_READ_FILE": "a file cannot be read: it is corrupt or not of that format",
    "MALFORMED_RECORD_IN_PARSING": "a record is malformed",
    "UNABLE_TO_INFER_SCHEMA": "no schema can be had: the input is empty or not of that format",
    "PARSE_SYNTAX_ERROR": "the schema or expression cannot be parsed",
    "INVALID_SCHEMA": "the schema cannot be parsed",
    "DATATYPE_MISMATCH": "a column has a type that does not fit",
}
_CAUSE: Final = re.compile(r"Caused by: (?P<cause>[^\n]+)")
_FRAME: Final = re.compile(r"\n\s+at |\nJVM stacktrace|\n\nDriver stacktrace|;\s*\n'")
# The last line of a traceback is what went wrong in a Python worker.
_WORKER: Final = re.compile(
    r"Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n)+(?P<error>\S[^\n]*)"
)
_FILE: Final = re.compile(r"reading file (\S+)")
_EXCEPTION_NAME: Final = re.compile(r"^(?:[a-z_][\w]*\.)+(?P<name>[A-Z]\w*)(?::\s*|$)")
_SQLSTATE: Final = re.compile(r"\s*SQLSTATE: \w+")


class PipelineError(Exception):
    """One line for the user: what is wrong, and with which option or file."""


class BrokenInputError(PipelineError):
    """A file of the input cannot be read, and that was known before the job did anything."""


def explain(error: BaseException) -> str:
    """One line for an error that Spark or the JVM raised: its innermost cause."""
    text = str(error)
    worker = _WORKER.search(text)
    if worker is not None:
        return _cut(f"Python of an executor: {worker['error']}{_which_python(worker['error'])}")
    causes = _CAUSE.findall(text)
    condition = condition_of(error)
    known = _known(condition)
    if not known:
        known = next((_CONDITIONS[name] for name in _CONDITIONS if f"[{name}" in text), "")
    innermost = causes[-1] if causes else _FRAME.split(text, maxsplit=1)[0]
    line = _one_line(innermost)
    if known and causes:
        line = f"{line} ({_one_line(_message_with_class(text))})"
    return _cut(f"{known}: {line}" if known else line)


def _which_python(told: str) -> str:
    if not told.startswith("ModuleNotFoundError"):
        return ""
    return "; --conf spark.pyspark.python=PATH, or PYSPARK_PYTHON, says which Python"


def file_of(error: BaseException) -> str | None:
    """The file that Spark could not read, where that is what the error says."""
    found = _FILE.search(str(error))
    return found[1].rstrip(".") if found else None


def _message_with_class(text: str) -> str:
    """The sentence that opens with an error class in brackets: it names the file or column."""
    found = re.search(r"\[[A-Z_.]+\][^\n]*", text)
    return found.group() if found else text.partition("\n")[0]


def condition_of(error: BaseException) -> str:
    """Spark's name for an error, such as PATH_NOT_FOUND; empty without one."""
    # Spark 3.5 has it under the older name.
    getter = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    condition = getter() if callable(getter) else None
    return str(condition or "")


def _known(condition: str) -> str:
    return _CONDITIONS.get(condition) or _CONDITIONS.get(condition.partition(".")[0], "")


def _one_line(text: str) -> str:
    text = _SQLSTATE.sub("", _FRAME.split(text, maxsplit=1)[0])
    text = " ".join(text.split())
    found = _EXCEPTION_NAME.match(text)
    return text[found.end() :] or found["name"] if found else text


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 1] + "…"
