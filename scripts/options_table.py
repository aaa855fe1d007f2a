"""The table of docs/options.md: every option, as flag, variable, key of the file and argument.

    python -m scripts.options_table [--check]

It is written from `mockbroker.server.options`, which is all that knows them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from mockbroker.server.options import OPTIONS, BrokerOptions, Option, ServeOptions

PAGE: Final = Path(__file__).parent.parent / "docs" / "options.md"
_HEAD: Final = """\
| flag | variable | file | `MockBroker` | |
|---|---|---|---|---|
"""


def render() -> str:
    """The page, with the table anew under what people wrote."""
    prose, _, _ = PAGE.read_text("utf-8").partition(_HEAD)
    return prose + _HEAD + "".join(f"| {' | '.join(_row(each))} |\n" for each in OPTIONS.values())


def _row(option: Option) -> list[str]:
    flag, variable = f"--{option.flag}", option.variable
    if option.metavar:
        flag = f"{flag} {option.metavar}"
    if option.many:
        variable = f"`{variable}`, {option.many}"
    keys = [key for key in (option.flag, _table(option)) if key]
    text = option.text or "records that are put into topics (docs/config-file.md)"
    return [
        _code(flag) if option.flag else "",
        (variable if option.many else _code(variable)) if option.flag else "",
        ", ".join(map(_code, keys)),
        _code(f"{option.name}: {_type(option.name)}") if option.name in _ARGUMENTS else "",
        text.replace("|", "\\|"),
    ]


_ARGUMENTS: Final = BrokerOptions.__annotations__


def _table(option: Option) -> str:
    if not option.table:
        return ""
    return f"[{option.table}]" if isinstance(option.default, dict) else f"[[{option.table}]]"


def _type(name: str) -> str:
    annotated, _ = ServeOptions.__annotations__[name]
    text = annotated.__name__ if isinstance(annotated, type) else str(annotated)
    return text.replace("collections.abc.", "")


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes the table of docs/options.md.")
    parser.add_argument("--check", action="store_true", help="only say whether it is current")
    fresh = render()
    if not parser.parse_args().check:
        PAGE.write_text(fresh, "utf-8")
    elif fresh != PAGE.read_text("utf-8"):
        sys.exit(f"{PAGE} is not current: run python -m scripts.options_table")


if __name__ == "__main__":
    main()
