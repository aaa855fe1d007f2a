"""What `mockbroker serve` accepts: every flag has its variable, and says so."""

from __future__ import annotations

import argparse

from mockbroker.server.flags import add_serve_options


def options() -> list[argparse.Action]:
    parser = argparse.ArgumentParser(add_help=False)
    add_serve_options(parser)
    return list(parser._actions)


def test_every_flag_names_its_variable() -> None:
    missing = [
        action.dest
        for action in options()
        if f"[MOCKBROKER_{action.dest.upper()}" not in str(action.help)
    ]
    assert missing == []


def test_a_flag_that_is_not_given_leaves_room_for_its_variable() -> None:
    assert {action.dest: action.default for action in options() if action.default is not None} == {}
