"""The command line: `mockbroker serve`, `mockbroker pipeline`, `--version`, `--help`.

Called by the `mockbroker` script and by `python -m mockbroker`. Every option has a
`MOCKBROKER_…` variable; the flag wins over the variable, the variable over the TOML file.
A mistake is one line on standard error and exit status 2, never a traceback.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

from mockbroker.cli.serve import add_flags, read_options
from mockbroker.server.values import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

_EPILOG: Final = """\
examples:
  mockbroker serve
      serve on 127.0.0.1:9092; topics appear when they are first used
  mockbroker serve --port 0 --ready-file broker.json --topic orders:6
      any free port, published in broker.json; one topic of six partitions
  mockbroker serve --no-auto-create --set log.retention.ms=60000
      refuse unknown topics; any broker config under Kafka's name
  mockbroker serve --brokers 3 --rack a,b,c --topic orders:6
      three brokers on ports 9092 to 9094; topics have three replicas
  MOCKBROKER_HOST=0.0.0.0 MOCKBROKER_ADVERTISED_HOST=kafka mockbroker serve
      the same by environment, as in a container

A TOML file given by --config may hold each option by its name (auto-create = false, log-level =
"debug"; several values as a list), a table [topics] (orders = 6) and a table [config]
("log.retention.ms" = 60000). A topic may be a table with partitions, config and seed
files, [[records]] are put into topics, [[faults]] are armed: see docs/config-file.md.
"""


_Help: Final = argparse.RawDescriptionHelpFormatter
_Checking: Final = partial(_Help, width=80)
"""For flags that are added: a width to be found out imports `shutil` and compressors."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"mockbroker: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    words = sys.argv[1:] if argv is None else list(argv)
    if argv is None and words[:1] == ["serve"]:
        gc.disable()  # what a start makes stays; `app` has the collector go on when it is ready
    if words[:1] == ["pipeline"]:
        from mockbroker.pipeline.command import run

        return run(words[1:])
    if words[:1] == ["journal"]:
        from mockbroker.cli.parser import with_verb

        words = with_verb(words)
    parser = _build_parser(with_commands=words[:1] != ["serve"])
    if words[:1] == ["completion"]:
        from mockbroker.cli.completion import complete

        return complete(parser, words[1:])
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        from mockbroker.cli.completion import refuse

        refuse(parser, words, unknown)
    if arguments.version:
        from mockbroker import __version__
        from mockbroker.server.compiled import is_compiled

        print(f"mockbroker {__version__} ({'compiled' if is_compiled() else 'pure Python'})")
        return 0
    if arguments.command is None:
        parser.print_help()
        return 2
    if arguments.command != "serve":
        from mockbroker.cli.run import run as run_command

        return run_command(arguments, os.environ)
    try:
        settings, ignored = read_options(vars(arguments), os.environ)
    except SettingsError as error:
        return _fail(str(error))
    from mockbroker.admin.errors import AdminError
    from mockbroker.config.errors import ConfigError
    from mockbroker.server.app import ServeError, serve

    try:
        serve(settings, ignored)
    except (ServeError, SettingsError, ConfigError, AdminError) as error:
        return _fail(str(error))
    return 0


def _fail(message: str) -> int:
    print(f"mockbroker: {message}", file=sys.stderr)
    return 2


def _build_parser(*, with_commands: bool) -> _Parser:
    parser = _Parser(
        prog="mockbroker",
        description="A fake Kafka broker that clients cannot tell from a real one.",
        epilog=_EPILOG,
        formatter_class=_Checking,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    serve = commands.add_parser(
        "serve",
        help="serve one broker until SIGTERM or SIGINT",
        description="Serve one broker until SIGTERM or SIGINT, then exit with status 0.",
        epilog=_EPILOG,
        formatter_class=_Checking,
        allow_abbrev=False,
    )
    add_flags(serve)
    parser.formatter_class = serve.formatter_class = _Help
    # Its options are its own: mockbroker.pipeline.command parses them.
    commands.add_parser(
        "pipeline", help="bring data in and out at any size, on Spark", add_help=False
    )
    if with_commands:
        commands.add_parser("completion", help="a script that completes words in your shell")
        from mockbroker.cli.parser import add_commands

        add_commands(commands)
    return parser
