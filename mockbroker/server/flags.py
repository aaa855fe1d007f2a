"""The flags of `mockbroker serve`, for `cli`'s parser. Each has a MOCKBROKER_ variable of its name.

`cli` reads what they hold, and what variables and the file hold instead.
"""

from __future__ import annotations

import argparse
from typing import Final

LOG_LEVELS: Final = ("debug", "info", "warning", "error")
LOG_FORMATS: Final = ("auto", "console", "json")


def add_serve_options(serve: argparse.ArgumentParser) -> None:
    add = serve.add_argument
    add("--host", help="address to listen on (default 127.0.0.1) [MOCKBROKER_HOST]")
    _add_cluster_options(serve)
    _add_listener_options(serve)
    add(
        "--topic",
        action="append",
        metavar="NAME[:PARTITIONS]",
        help="create a topic at start; repeatable [MOCKBROKER_TOPIC, separated by commas]",
    )
    add(
        "--auto-create",
        action=argparse.BooleanOptionalAction,
        help="create a topic when a client first asks for it (default yes)"
        " [MOCKBROKER_AUTO_CREATE]",
    )
    add(
        "--default-partitions",
        metavar="N",
        help="partitions of a topic made without a count (default 1)"
        " [MOCKBROKER_DEFAULT_PARTITIONS]",
    )
    add("--config", metavar="FILE.toml", help="read settings from a file [MOCKBROKER_CONFIG]")
    add(
        "--set",
        action="append",
        metavar="KEY=VALUE",
        help="a broker config under Kafka's name; repeatable [MOCKBROKER_SET, one a line]",
    )
    add(
        "--advertised-host",
        metavar="H",
        help="host that clients are told (default: the address that they connected to)"
        " [MOCKBROKER_ADVERTISED_HOST]",
    )
    add(
        "--ready-file",
        metavar="PATH",
        help="write JSON with bootstrap, brokers, cluster_id and pid there once clients may connect"
        " [MOCKBROKER_READY_FILE]",
    )
    add(
        "--controller-port",
        metavar="PORT",
        help="serve the metadata log to raft observers on this port, 0 for any free one"
        " (default: not at all) [MOCKBROKER_CONTROLLER_PORT]",
    )
    _add_snapshot_options(serve)
    _add_admin_options(serve)
    add("--seed", metavar="N", help="make random ids repeatable [MOCKBROKER_SEED]")
    _add_test_options(serve)
    add(
        "--log-level",
        metavar="LEVEL",
        help=f"{', '.join(LOG_LEVELS)} (default info; debug: a line a request)"
        " [MOCKBROKER_LOG_LEVEL]",
    )
    add(
        "--log-format",
        metavar="FORMAT",
        help="console for people, json for machines, auto: console on a terminal (default)"
        " [MOCKBROKER_LOG_FORMAT]",
    )


def _add_cluster_options(serve: argparse.ArgumentParser) -> None:
    add = serve.add_argument
    add(
        "--port",
        metavar="PORT[,PORT...]",
        help="port to listen on, 0 for any free one (default 9092); of several brokers"
        " the first, or one for each [MOCKBROKER_PORT]",
    )
    add(
        "--brokers",
        metavar="N",
        help="brokers, on ports from --port upwards (default 1) [MOCKBROKER_BROKERS]",
    )
    add("--rack", metavar="RACK[,RACK...]", help="racks of the brokers in turn [MOCKBROKER_RACK]")


def _add_snapshot_options(serve: argparse.ArgumentParser) -> None:
    add = serve.add_argument
    add(
        "--restore",
        metavar="FILE",
        help="begin with what this snapshot holds [MOCKBROKER_RESTORE]",
    )
    add(
        "--snapshot",
        metavar="FILE",
        help="write what the broker holds there when it ends [MOCKBROKER_SNAPSHOT]",
    )


def _add_test_options(serve: argparse.ArgumentParser) -> None:
    add = serve.add_argument
    add(
        "--journal",
        metavar="DIR",
        help="write what happens into files there, a JSON object a line (docs/journal.md)"
        " [MOCKBROKER_JOURNAL]",
    )
    add(
        "--fault",
        action="append",
        metavar="JSON|@FILE",
        help="arm a fault rule, or a list of them, from the start; repeatable (docs/faults.md)"
        " [MOCKBROKER_FAULT]",
    )
    add(
        "--freeze-clock",
        action=argparse.BooleanOptionalAction,
        help="start with a time that stands still (default no) [MOCKBROKER_FREEZE_CLOCK]",
    )


def _add_admin_options(serve: argparse.ArgumentParser) -> None:
    add = serve.add_argument
    add(
        "--admin-port",
        metavar="PORT",
        help="serve the admin API on this port, 0 for any free one (default: not at all)"
        " [MOCKBROKER_ADMIN_PORT]",
    )
    add(
        "--admin-host",
        metavar="H",
        help="address of the admin API (default 127.0.0.1) [MOCKBROKER_ADMIN_HOST]",
    )
    add(
        "--admin-token",
        metavar="T",
        help="bearer token of the admin API; needed unless its address is loopback"
        " [MOCKBROKER_ADMIN_TOKEN]",
    )


def _add_listener_options(serve: argparse.ArgumentParser) -> None:
    add = serve.add_argument
    add(
        "--listener",
        action="append",
        metavar="NAME://HOST:PORT",
        help="listen there, instead of at --host and --port; repeatable; without a host at --host"
        " [MOCKBROKER_LISTENER, separated by commas]",
    )
    add(
        "--advertised-listener",
        action="append",
        metavar="NAME://HOST:PORT",
        help="what the clients of that listener are told; repeatable"
        " [MOCKBROKER_ADVERTISED_LISTENER, separated by commas]",
    )
    add("--cluster-id", metavar="ID", help="(default: drawn) [MOCKBROKER_CLUSTER_ID]")
    add(
        "--kafka-env",
        action=argparse.BooleanOptionalAction,
        help="heed CLUSTER_ID and KAFKA_ variables, as Apache Kafka's image does; the image of"
        " mockbroker does so (default no) [MOCKBROKER_KAFKA_ENV]",
    )
