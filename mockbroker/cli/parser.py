"""What the commands accept: one subparser a command, for `cli`'s parser.

Each leaf sets `action`, the name of the function in `actions` that carries it out.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from mockbroker.admin.client import DEFAULT_URL
from mockbroker.cluster.actions import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    Subparsers = argparse._SubParsersAction[Any]  # noqa: SLF001 -- it has no public name

_EPILOG: Final = """\
examples:
  mockbroker topics create orders --partitions 6
  mockbroker topics put orders paid --key order-1
  mockbroker groups wait billing --state Stable --members 2
  mockbroker faults preset leader_moved topic=orders
  mockbroker clock advance 24h
  mockbroker cluster kill 2
  mockbroker journal expect --api OffsetCommit --group billing --timeout 5s
  mockbroker doctor --admin http://127.0.0.1:9644
  mockbroker journal journal-dir --group billing --timeline
  mockbroker top --view groups
"""


_ACTION_HELP: Final = {
    "kill": "crash a broker; with --no-fence it is found out by its session time-out only, with"
    " --lose unflushed it keeps of its logs what Kafka would have flushed",
    "stop": "stop a broker cleanly: its leaders move away first",
    "revive": "start a broker that was killed or stopped",
    "fence": "let the controller take a running broker for lost",
    "unfence": "undo fence",
    "isolate": "cut a broker off from all others and the controller; clients still reach it",
    "reconnect": "undo isolate",
    "skew_clock": "put a broker's wall clock ahead, or behind",
    "cut_link": "lose what SOURCE sends to TARGET; -1 is the controller",
    "hold_link": "let what SOURCE sends to TARGET wait",
    "slow_link": "let what SOURCE sends take so long to TARGET",
    "restore_link": "let the link work as before",
    "move_leader": "make an in-sync replica the leader",
    "shrink_isr": "take a follower out of the in-sync set",
    "reassign": "put a partition's replicas on these brokers: 2,3",
    "elect_preferred": "let the first of the replicas lead again",
    "elect_unclean": "let the first live replica lead a partition without leader",
    "move_coordinator": "make another broker coordinate a group",
    "hold_follower": "let a follower fall behind",
    "release_follower": "let it catch up",
    "hold_high_watermark": "let the high watermark stand still",
    "release_high_watermark": "let it move again",
    "tell_high_watermark": "whether followers fetch by v18 (true) or v17 (false)",
}


def _replicas(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: true, false")
    return text == "true"


_FIELD_TYPES: Final[dict[str, Callable[[str], object]]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": _flag,
    "Sequence[int]": _replicas,
}
TOP_VIEWS: Final = (
    "requests", "apis", "clients", "topics", "groups", "transactions", "faults",
)  # fmt: skip
_JOURNAL_VERBS: Final = ("list", "events", "read", "follow", "expect")


def with_verb(words: list[str]) -> list[str]:
    """`journal FILE…` is `journal read FILE…`."""
    if words[:1] != ["journal"] or len(words) == 1:
        return words
    is_verb = words[1] in _JOURNAL_VERBS or words[1].startswith("-")
    return words if is_verb else ["journal", "read", *words[1:]]


def add_commands(commands: Subparsers) -> None:
    """Add every command to `mockbroker`."""
    for name, (text, build) in COMMANDS.items():
        parser = commands.add_parser(
            name,
            help=text,
            description=text[0].upper() + text[1:] + ".",
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        build(parser)


def _common(parser: argparse.ArgumentParser, action: str) -> None:
    parser.set_defaults(action=action)
    parser.add_argument(
        "--admin",
        metavar="URL",
        help=f"admin API of the broker (default {DEFAULT_URL}) [MOCKBROKER_ADMIN]",
    )
    parser.add_argument(
        "--admin-token", metavar="T", help="its bearer token [MOCKBROKER_ADMIN_TOKEN]"
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def _leaves(parser: argparse.ArgumentParser) -> Callable[..., argparse.ArgumentParser]:
    verbs = parser.add_subparsers(metavar="VERB", required=True, parser_class=type(parser))

    def leaf(verb: str, text: str, *names: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = verbs.add_parser(verb, help=text, description=text)
        _common(made, f"{parser.prog.rpartition(' ')[2]}_{verb}")
        for name in names:
            made.add_argument(name, metavar=name.upper())
        return made

    return leaf


def _topics(parser: argparse.ArgumentParser) -> None:
    leaf = _leaves(parser)
    made = leaf("list", "list topics")
    made.add_argument("--prefix", help="only names that begin so")
    made.add_argument("--internal", action="store_true", help="the coordinators' topics too")
    leaf("show", "one topic with its partitions and configs", "name")
    made = leaf("create", "make a topic", "name")
    made.add_argument("--partitions", type=int, metavar="N")
    made.add_argument("--replication-factor", type=int, metavar="N")
    made.add_argument("--set", action="append", metavar="KEY=VALUE", help="a topic config")
    leaf("delete", "delete a topic", "name")
    made = leaf("records", "print records, one a line", "name")
    made.add_argument("--partition", type=int, metavar="P", help="that partition only")
    made.add_argument("--offset", type=int, default=0, metavar="N", help="from this offset on")
    made.add_argument("--limit", type=int, default=100, metavar="N", help="at most (default 100)")
    made.add_argument("--committed", action="store_true", help="without aborted transactions")
    made = leaf("put", "put one record", "name", "value")
    made.add_argument("--key", metavar="K")
    made.add_argument("--header", action="append", metavar="NAME=VALUE")
    made.add_argument("--partition", type=int, metavar="P")
    made.add_argument("--timestamp", type=int, metavar="MS", help="ms since 1970 (default now)")
    made = leaf("wait", "wait until a topic holds so many records", "name")
    made.add_argument("--count", type=int, default=1, metavar="N")
    made.add_argument("--committed", action="store_true", help="without aborted transactions")
    _timeout(made)


def _groups(parser: argparse.ArgumentParser) -> None:
    leaf = _leaves(parser)
    leaf("list", "list groups").add_argument("--prefix", help="only ids that begin so")
    leaf("show", "one group with its members, offsets and lag", "group")
    leaf("delete", "forget a group and its offsets", "group")
    made = leaf("commit", "commit offsets for a group without members", "group")
    made.add_argument("offset", nargs="+", metavar="TOPIC:PARTITION:OFFSET")
    made = leaf("wait", "wait until a group is so", "group")
    made.add_argument("--state", metavar="STATE", help="Stable, Empty, …")
    made.add_argument("--members", type=int, metavar="N")
    made.add_argument("--lag-at-most", type=int, metavar="N")
    _timeout(made)


def _faults(parser: argparse.ArgumentParser) -> None:
    leaf = _leaves(parser)
    leaf("list", "list rules with their hits")
    leaf("add", "arm rules: JSON, @FILE, or - for standard input", "rule")
    made = leaf("preset", "arm a preset", "name")
    made.add_argument("argument", nargs="*", metavar="KEY=VALUE")
    leaf("presets", "list presets")
    leaf("remove", "disarm a rule", "id")
    leaf("release", "let go what a rule holds back", "id")
    leaf("clear", "disarm all rules")
    made = leaf("wait", "wait until a rule fired so often; status 1 when it does not", "id")
    made.add_argument("--hits", type=int, default=1, metavar="N")
    _timeout(made)
    made = leaf("verify", "status 1 when a rule never fired, or a strict broker refused a request")
    made.add_argument("--strict", action="store_true", help="refused requests count")


def _clock(parser: argparse.ArgumentParser) -> None:
    leaf = _leaves(parser)
    leaf("show", "what time it is for the broker")
    leaf("freeze", "stop the time")
    leaf("unfreeze", "let time pass on")
    made = leaf("advance", "let time pass at once: 500ms, 15m, 24h, 7d", "by")
    made.add_argument("--keep-wall", action="store_true", help="the wall time stays")
    made = leaf("jump", "move the wall time alone, either way", "by")
    made.add_argument("--back", action="store_true", help="into the past")
    leaf("rate", "let time run faster", "rate")


def _journal(parser: argparse.ArgumentParser) -> None:
    leaf = _leaves(parser)
    made = leaf("list", "the last requests that match")
    made.add_argument("--limit", type=int, default=50, metavar="N", help="at most (default 50)")
    _filters(made)
    leaf("events", "what happened beside requests")
    made = leaf("read", "what a journal's files say; also: mockbroker journal FILE…")
    made.add_argument(
        "file", nargs="+", metavar="FILE", help="a file, or the directory of --journal"
    )
    made.add_argument("--kinds", metavar="KIND,…", help="request, session, group, fault, …")
    made.add_argument("--limit", type=int, metavar="N", help="the last ones only (default all)")
    made.add_argument("--timeline", action="store_true", help="since the first; repeats are folded")
    _filters(made)
    made = leaf("follow", "print events as they happen, until interrupted")
    made.add_argument("--kinds", metavar="KIND,…", help="request, session, group, fault, …")
    made = leaf("expect", "wait for requests; status 1 when they do not come")
    made.add_argument("--times", type=int, default=1, metavar="N")
    _filters(made)
    _timeout(made)


def _cluster(parser: argparse.ArgumentParser) -> None:
    leaf = _leaves(parser)
    leaf("show", "the brokers")
    leaf("do", "actions: JSON of one or a list, @FILE, or - for standard input", "actions")
    for name, fields in ACTIONS.items():
        made = leaf(name.replace("_", "-"), _ACTION_HELP[name])
        made.set_defaults(action="cluster_act", verb=name)
        for field, kind in fields.items():
            if kind == "bool?":
                word = f"--no-{field.replace('_', '-')}"
                made.add_argument(word, dest=field, action="store_false", default=None)
            elif kind.endswith("?"):
                made.add_argument(f"--{field}", metavar=field.upper(), type=_FIELD_TYPES[kind[:-1]])
            else:
                made.add_argument(field, metavar=field.upper(), type=_FIELD_TYPES[kind])


def _snapshots(parser: argparse.ArgumentParser) -> None:
    leaf = _leaves(parser)
    leaf("list", "list snapshots")
    leaf("take", "keep all that the broker holds now", "name")
    leaf("restore", "go back to a snapshot", "name")
    leaf("delete", "forget a snapshot", "name")


def _reset(parser: argparse.ArgumentParser) -> None:
    _common(parser, "reset")


def _healthcheck(parser: argparse.ArgumentParser) -> None:
    _common(parser, "healthcheck")
    parser.add_argument(
        "--bootstrap",
        metavar="HOST:PORT",
        help="ask this Kafka listener instead of the admin API (default: 127.0.0.1 and"
        " MOCKBROKER_PORT, when no admin API is named)",
    )


def _doctor(parser: argparse.ArgumentParser) -> None:
    _common(parser, "doctor")


def _docs(parser: argparse.ArgumentParser) -> None:
    _common(parser, "docs")
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1 (default any free one)")
    parser.add_argument("--out", metavar="DIR", help="make the site there and serve nothing")
    parser.add_argument(
        "--examples", metavar="DIR", help="copy the examples that the pages tell of there"
    )


def _top(parser: argparse.ArgumentParser) -> None:
    _common(parser, "top")
    parser.add_argument("--view", choices=TOP_VIEWS, default=TOP_VIEWS[0], help="shown first")
    parser.add_argument(
        "--filter",
        default="",
        metavar="WORDS",
        help="rows with these words; of requests also api=Fetch, client=billing*, topic=, group=,"
        " error=, fault=, connection=",
    )
    parser.add_argument(
        "--interval", default="1s", metavar="T", help="time between two looks (default 1s)"
    )
    parser.add_argument("--once", action="store_true", help="print one look as text")


def _timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout", default="5s", metavar="T", help="how long, such as 500ms or 5s (default 5s)"
    )


def _filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--api", help="an API by Kafka's name or number")
    parser.add_argument("--client", metavar="GLOB", help="client ids")
    parser.add_argument("--topic")
    parser.add_argument("--group")
    parser.add_argument("--transactional-id", metavar="ID")
    parser.add_argument(
        "--error", metavar="ERROR", help="a code, its name, true (any) or false (none)"
    )
    parser.add_argument("--fault", metavar="ID", help="a rule's id, or true (any)")
    parser.add_argument("--since", type=int, default=0, metavar="CURSOR")


COMMANDS: Final[dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]]] = {
    "topics": ("see, make and fill topics", _topics),
    "groups": ("see groups, wait for them, commit for them", _groups),
    "faults": ("arm and disarm faults", _faults),
    "clock": ("freeze, advance and jump the broker's time", _clock),
    "cluster": ("kill and revive brokers, move leaders, cut links", _cluster),
    "journal": ("see what clients asked, and wait for it", _journal),
    "snapshots": ("keep the broker's state and go back to it", _snapshots),
    "reset": ("make the broker as it was when it started", _reset),
    "healthcheck": ("exit 0 when clients may use the broker, else 1", _healthcheck),
    "doctor": ("tell what is odd about a broker that runs; status 1 when something is", _doctor),
    "docs": ("serve the documentation as a site", _docs),
    "top": ("what goes on, live in a terminal", _top),
}
