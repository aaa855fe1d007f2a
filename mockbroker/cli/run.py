"""Runs one command: finds the admin API, carries the action out, prints what came of it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from mockbroker.admin.client import DEFAULT_URL, AdminApiError, AdminClient
from mockbroker.cli import actions
from mockbroker.cli.errors import CommandError
from mockbroker.cli.health import check
from mockbroker.cli.serve import refuse_unknown_variables
from mockbroker.journal.printable import printable_lines
from mockbroker.server.streams import write_line
from mockbroker.server.values import SettingsError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping


class _OutputError(Exception):
    """Why standard output cannot be written."""


def run(arguments: Namespace, environment: Mapping[str, str]) -> int:
    """Carry out a parsed command; returns the exit status."""
    try:
        return _run(arguments, environment)
    except (AdminApiError, CommandError, SettingsError) as error:
        print(f"mockbroker: {error}", file=sys.stderr)
        return error.status if isinstance(error, CommandError) else 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    except _OutputError as error:
        print(f"mockbroker: standard output cannot be written ({error})", file=sys.stderr)
        return 2


def _run(arguments: Namespace, environment: Mapping[str, str]) -> int:
    refuse_unknown_variables(environment)
    url = arguments.admin or environment.get("MOCKBROKER_ADMIN")
    token = arguments.admin_token or environment.get("MOCKBROKER_ADMIN_TOKEN")
    if arguments.action == "healthcheck":
        return check(arguments.bootstrap, url, token, environment)
    if arguments.action == "docs":
        from mockbroker.cli.docs import run as run_docs

        return run_docs(arguments)
    client = AdminClient(url or DEFAULT_URL, token)
    if arguments.action == "journal_follow":
        return _follow(client, arguments)
    data: Any
    if arguments.action == "top":
        from mockbroker.cli.top.command import is_screen, look_once, show

        if is_screen(arguments):
            show(client, arguments)
            return 0
        data, text = look_once(client, arguments)
    elif arguments.action == "journal_read":
        from mockbroker.cli.journal_files import read

        data, text = read(arguments)
    elif arguments.action == "doctor":
        from mockbroker.cli.doctor import examine

        data, text = examine(client)
    else:
        data, text = actions.act(arguments.action, client, arguments)
    if arguments.json:
        _print(json.dumps(data, indent=2))
    elif text:
        _print(printable_lines(text))
    if isinstance(data, dict) and data.get("met") is False:
        raise CommandError(str(data["explanation"]), 1)
    if isinstance(data, dict) and data.get("clean") is False:
        raise CommandError(str(data["text"]), 1)
    return 1 if arguments.action == "doctor" and data["odd"] else 0


def _follow(client: AdminClient, arguments: Namespace) -> int:
    for kind, data in client.stream("/v1/events", kinds=arguments.kinds):
        text = json.dumps(data) if arguments.json else actions.event_text(kind, data)
        _print(printable_lines(text))
    return 0


def _print(text: str) -> None:
    error = write_line(text)
    if isinstance(error, BrokenPipeError):
        raise error
    if error is not None:
        raise _OutputError((error.strerror or str(error)).lower())
