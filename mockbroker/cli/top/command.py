"""`mockbroker top`: the screen where there is a terminal, else one look as text or JSON."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from mockbroker.cli.errors import CommandError
from mockbroker.cli.tables import table
from mockbroker.cli.top.rates import Rates, head, head_text
from mockbroker.cli.top.views import VIEWS, parse_filter
from mockbroker.cli.values import milliseconds

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from mockbroker.admin.client import AdminClient

_LEAST_MS: Final = 100


def is_screen(given: Namespace) -> bool:
    """Whether it is to be drawn: a terminal at all ends, and nobody asks for one look.

    Textual draws on standard error.
    """
    wants_one = given.once or given.json
    return not wants_one and all(one.isatty() for one in (sys.stdin, sys.stdout, sys.stderr))


def show(client: AdminClient, given: Namespace) -> None:
    """Draw until `q`. Raises CommandError for a bad option, or where Textual is not there."""
    interval_ms = _interval_ms(given)
    wanted = parse_filter(given.filter)
    head(client, Rates())  # a broker that does not answer is told before the screen is cleared
    try:
        from mockbroker.cli.top.app import TopApp
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("textual", "rich"):
            raise
        raise CommandError(
            "top: it draws with Textual: pip install 'mockbroker[top]'; or see it once, with --once"
        ) from None
    from mockbroker.cli.top.terminal import end_with

    names = [each.name for each in VIEWS]
    end_with(sys.stdin.fileno())
    TopApp(client, interval_s=interval_ms / 1000, view=names.index(given.view), wanted=wanted).run()


def look_once(
    client: AdminClient, given: Namespace, sleep: Callable[[float], None] = time.sleep
) -> tuple[dict[str, Any], str]:
    """One look, for programs and for people; rates are those of one interval before it."""
    interval_s = _interval_ms(given) / 1000
    wanted = parse_filter(given.filter)
    shown = next(each for each in VIEWS if each.name == given.view)
    view, rates = shown(client), Rates()
    head(client, rates)
    view.rows(wanted)
    sleep(interval_s)
    told, rows = head(client, rates), view.rows(wanted)
    data = {**told, given.view: [dict(zip(view.columns, row, strict=True)) for row in rows]}
    return data, f"{head_text(told)}\n\n{table(view.columns, rows)}"


def _interval_ms(given: Namespace) -> float:
    interval_ms = milliseconds("--interval", given.interval)
    if interval_ms < _LEAST_MS:
        raise CommandError(f"--interval: {given.interval!r}; allowed: {_LEAST_MS}ms and more")
    return interval_ms
