"""The command line: `mockbroker serve`, `mockbroker pipeline`, `--version`, `--help`.

Called by the `mockbroker` script and by `python -m mockbroker`. Every option has a
`MOCKBROKER_…` variable; the flag wins over the variable, the variable over the TOML file.
A mistake is one line on standard error and exit status 2, never a traceback.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import TYPE_CHECKING, Final, NoReturn

from mockbroker.server.flags import LOG_FORMATS, LOG_LEVELS, add_serve_options
from mockbroker.server.listeners import (
    DEFAULT_NAME,
    Address,
    ListenerError,
    advertise,
    make_listeners,
    parse_addresses,
)
from mockbroker.server.settings import (
    Settings,
    SettingsError,
    check_topic_name,
    parse_brokers,
    parse_choice,
    parse_count,
    parse_flag,
    parse_pair,
    parse_port,
    parse_ports,
    parse_token,
    parse_topic,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker.faults import Fault
    from mockbroker.server.kafka_environment import KafkaEnvironment
    from mockbroker.server.listeners import Listener
    from mockbroker.state.preparation import Preparation

DEFAULT_PORT: Final = 9092
_CLUSTER_ID: Final = re.compile(r"[\w.-]{1,249}", re.ASCII)

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

A TOML file given by --config may hold host, port, controller-port, admin-port, admin-host,
admin-token, brokers, rack, advertised-host, listener, advertised-listener (lists of texts),
cluster-id, kafka-env, auto-create, default-partitions, freeze-clock,
journal, log-level, log-format, ready-file, restore, snapshot, seed,
a table [topics] (orders = 6) and a table [config]
("log.retention.ms" = 60000). A topic may be a table with partitions, config and seed
files, [[records]] are put into topics, [[faults]] are armed: see docs/config-file.md.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"mockbroker: {message} (see mockbroker serve --help)\n")


class ServeOptions:
    """What `serve` was asked for: the broker's settings and the process's own."""

    __slots__ = ("ignored", "log_format", "log_level", "ready_file", "settings")

    def __init__(
        self,
        settings: Settings,
        log_level: str,
        log_format: str,
        ready_file: str | None,
        ignored: Sequence[str] = (),
    ) -> None:
        self.ignored = ignored
        self.settings = settings
        self.log_level = log_level
        self.log_format = log_format
        self.ready_file = ready_file


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["pipeline"]:
        from mockbroker.pipeline.command import run

        return run(words[1:])
    parser = _build_parser(with_commands=words[:1] != ["serve"])
    arguments = parser.parse_args(words)
    if arguments.version:
        from mockbroker import __version__

        print(f"mockbroker {__version__}")
        return 0
    if arguments.command is None:
        parser.print_help()
        return 2
    if arguments.command != "serve":
        from mockbroker.cli.run import run as run_command

        return run_command(arguments, os.environ)
    try:
        options = read_options(vars(arguments), os.environ)
    except SettingsError as error:
        return _fail(str(error))
    from mockbroker.admin.errors import AdminError
    from mockbroker.config.errors import ConfigError
    from mockbroker.server.app import ServeError, serve

    try:
        serve(
            options.settings,
            log_level=options.log_level,
            log_format=options.log_format,
            ready_file=options.ready_file,
            ignored=options.ignored,
        )
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
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    serve = commands.add_parser(
        "serve",
        help="serve one broker until SIGTERM or SIGINT",
        description="Serve one broker until SIGTERM or SIGINT, then exit with status 0.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_serve_options(serve)
    # Its options are its own: mockbroker.pipeline.command parses them.
    commands.add_parser(
        "pipeline", help="bring data in and out at any size, on Spark", add_help=False
    )
    if with_commands:
        from mockbroker.cli.parser import add_commands

        add_commands(commands)
    return parser


# -- flags over environment over file -------------------------------------------------------

_KEYS: Final = (
    "host",
    "port",
    "controller_port",
    "brokers",
    "rack",
    "admin_port",
    "admin_host",
    "admin_token",
    "topic",
    "auto_create",
    "default_partitions",
    "set",
    "advertised_host",
    "listener",
    "advertised_listener",
    "cluster_id",
    "kafka_env",
    "ready_file",
    "seed",
    "fault",
    "freeze_clock",
    "journal",
    "restore",
    "snapshot",
    "log_level",
    "log_format",
)


class _Sources:
    """Looks one option up in the flags, the environment and the file, in this order."""

    def __init__(
        self,
        flags: Mapping[str, object],
        environment: Mapping[str, str],
        file: Mapping[str, object],
        file_name: str,
    ) -> None:
        self._flags = flags
        self._environment = environment
        self._file = file
        self._file_name = file_name
        self.kafka: KafkaEnvironment | None = None
        option, wanted = self.find("kafka_env")
        if wanted if isinstance(wanted, bool) else _flag(option, wanted):
            from mockbroker.server.kafka_environment import translate

            self.kafka = translate(environment)

    def find(self, key: str) -> tuple[str, object | None]:
        """The option's name as the user wrote it, and its value or None."""
        flag = self._flags.get(key)
        dashed = key.replace("_", "-")
        if flag is not None:
            return f"--{dashed}", flag
        variable = f"MOCKBROKER_{key.upper()}"
        if self._environment.get(variable):
            return variable, self._environment[variable]
        return f"{self._file_name}: {dashed}", self._file.get(dashed)

    def text(self, key: str) -> tuple[str, str | None]:
        """The same as text."""
        option, value = self.find(key)
        return option, None if value is None else str(value)

    def texts(self, key: str) -> tuple[str, list[str]]:
        """The same as texts; a single one holds them separated by commas."""
        option, value = self.find(key)
        if isinstance(value, str):
            value = [entry.strip() for entry in value.split(",") if entry.strip()]
        return option, [str(entry) for entry in value] if isinstance(value, list) else []


def read_options(flags: Mapping[str, object], environment: Mapping[str, str]) -> ServeOptions:
    """Put the sources together. Raises SettingsError."""
    file_name = str(flags.get("config") or environment.get("MOCKBROKER_CONFIG") or "")
    file = _read_file(file_name) if file_name else {}
    sources = _Sources(flags, environment, file, file_name)
    option, level = sources.text("log_level")
    log_level = parse_choice(option, level or "info", LOG_LEVELS)
    option, log_format = sources.text("log_format")
    return ServeOptions(
        _read_settings(sources, file, file_name),
        log_level,
        parse_choice(option, log_format or "auto", LOG_FORMATS),
        sources.text("ready_file")[1],
        sources.kafka.ignored if sources.kafka is not None else (),
    )


def _read_settings(sources: _Sources, file: Mapping[str, object], file_name: str) -> Settings:
    option, host = sources.text("host")
    port_option, port = sources.text("port")
    ports = parse_ports(port_option, DEFAULT_PORT if port is None else port)
    brokers_option, brokers_text = sources.text("brokers")
    brokers = parse_brokers(brokers_option, brokers_text, ports)
    listener_option, listeners = _read_listeners(sources, host, port, ports[0], brokers)
    seed_option, seed = sources.text("seed")
    controller_option, controller_port = sources.text("controller_port")
    admin_option, admin_port = sources.text("admin_port")
    config = _read_config(sources, file, file_name)
    try:
        seed_value = None if seed is None else int(seed)
    except ValueError:
        raise SettingsError(seed_option, f"{seed!r} is not a number", "a whole number") from None
    freeze_option, freeze = sources.find("freeze_clock")
    fault_option, faults = _read_faults(sources)
    journal_option, journal = sources.text("journal")
    if host is not None and not host.strip():
        raise SettingsError(option, "it is empty", "an address such as 127.0.0.1 or 0.0.0.0")
    return Settings(
        host=host or "127.0.0.1",
        ports=ports,
        brokers=brokers,
        racks=_read_racks(sources, brokers),
        listeners=listeners,
        listener_option=listener_option,
        cluster_id=_read_cluster_id(sources),
        topics=_read_topics(sources, file, file_name),
        config=config,
        advertised_host=sources.text("advertised_host")[1],
        seed=seed_value,
        faults=faults,
        fault_option=fault_option,
        journal=journal or None,
        journal_option=journal_option,
        freeze_clock=freeze if isinstance(freeze, bool) else _flag(freeze_option, freeze),
        controller_port=(
            None if controller_port is None else parse_port(controller_option, controller_port)
        ),
        preparation=_read_preparation(sources, file, file_name),
        snapshot_file=sources.text("snapshot")[1],
        admin_port=None if admin_port is None else parse_port(admin_option, admin_port),
        admin_host=sources.text("admin_host")[1] or "127.0.0.1",
        admin_token=parse_token(*sources.text("admin_token")),
    )


def _read_faults(sources: _Sources) -> tuple[str, list[Fault]]:
    """The rules of every --fault, or of the variable, and where they came from."""
    option, value = sources.find("fault")
    if value is None:
        return option, []
    from mockbroker.faults.errors import FaultError
    from mockbroker.faults.presets import parse

    faults: list[Fault] = []
    for entry in value if isinstance(value, list) else [value]:
        data = _json_of(option, entry) if isinstance(entry, str) else entry
        try:
            faults += parse(data)
        except FaultError as error:
            allowed = "fault rules as docs/faults.md has them"
            raise SettingsError(option, str(error), allowed) from None
    return option, faults


def _json_of(option: str, text: str) -> object:
    import json

    try:
        if text.startswith("@"):
            with open(text[1:], encoding="utf-8") as stream:
                text = stream.read()
        data: object = json.loads(text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SettingsError(option, f"{text}: {reason}", "@ and a readable file") from None
    except ValueError as error:
        raise SettingsError(option, f"not JSON ({error})", "JSON, or @ and a file") from None
    return data


def _flag(option: str, value: object | None) -> bool:
    return False if value is None else parse_flag(option, str(value))


def _read_listeners(
    sources: _Sources, host: str | None, port: str | None, first_port: int, brokers: int
) -> tuple[str, list[Listener]]:
    """The listeners with names of their own, none when there are none, and who asked for them."""
    option, entries = sources.texts("listener")
    advertised_option, advertised = sources.texts("advertised_listener")
    if sources.kafka is not None:
        if not entries:
            option, entries = "KAFKA_LISTENERS", sources.kafka.listeners
        if not advertised:
            advertised_option = "KAFKA_ADVERTISED_LISTENERS"
            advertised = sources.kafka.advertised_listeners
    if not entries and not advertised:
        return option, []
    if entries and port is not None:
        raise SettingsError(option, "not beside a port", f"{option} or --port, not both")
    try:
        bound = parse_addresses(entries) or [Address(DEFAULT_NAME, "", first_port)]
        listeners = make_listeners(
            bound,
            default_host=host or "127.0.0.1",
            advertised_host=sources.text("advertised_host")[1],
            brokers=brokers,
        )
        option, used = advertised_option, option
        advertise(listeners, parse_addresses(advertised), brokers)
    except ListenerError as error:
        raise SettingsError(option, error.problem, error.allowed) from None
    return used, listeners


def _read_cluster_id(sources: _Sources) -> str | None:
    option, cluster_id = sources.text("cluster_id")
    if cluster_id is None and sources.kafka is not None:
        option, cluster_id = "CLUSTER_ID", sources.kafka.cluster_id
    if cluster_id is not None and not _CLUSTER_ID.fullmatch(cluster_id):
        problem = f"{cluster_id!r} is no cluster id"
        raise SettingsError(option, problem, "1 to 249 letters, digits, '.', '_' and '-'")
    return cluster_id


def _read_racks(sources: _Sources, count: int) -> list[str]:
    option, text = sources.text("rack")
    racks = [rack.strip() for rack in (text or "").split(",") if rack.strip()]
    if len(racks) not in (0, count):
        raise SettingsError(
            option, f"{len(racks)} racks for {count} broker(s)", "one rack for each broker"
        )
    return racks


def _read_topics(
    sources: _Sources, file: Mapping[str, object], file_name: str
) -> dict[str, int | None]:
    topics: dict[str, int | None] = {}
    table = _table(file, file_name, "topics")
    for name, count in table.items():
        if isinstance(count, dict):
            continue  # `_read_preparation` makes it
        entry = f"{name}:{count}"
        parsed, partitions = parse_topic(f"{file_name}: topics", entry)
        topics[parsed] = partitions
    option, value = sources.find("topic")
    if isinstance(value, str):
        value = [entry.strip() for entry in value.split(",") if entry.strip()]
    for entry in value if isinstance(value, list) else []:
        parsed, partitions = parse_topic(option, str(entry))
        topics[parsed] = partitions
    return topics


def _read_preparation(
    sources: _Sources, file: Mapping[str, object], file_name: str
) -> Preparation | None:
    """Topics with more than a count, records and a snapshot; None without any."""
    option, snapshot = sources.text("restore")
    topics = {
        name: topic
        for name, topic in _table(file, file_name, "topics").items()
        if isinstance(topic, dict)
    }
    lists = {name: _list(file, file_name, name) for name in ("records", "faults")}
    if not (topics or snapshot or any(lists.values())):
        return None
    from mockbroker.state.preparation import Preparation, PreparationError

    preparation = Preparation()
    folder = os.path.dirname(file_name)
    try:
        if snapshot:
            preparation.restore(option, snapshot)
        for name, topic in topics.items():
            check_topic_name(f"{file_name}: topics", name)
            preparation.add_topic(f"{file_name}: topics.{name}", name, topic, folder)
        for at, record in enumerate(lists["records"]):
            preparation.add_record(f"{file_name}: records[{at}]", record)
        for at, fault in enumerate(lists["faults"]):
            preparation.add_fault(f"{file_name}: faults[{at}]", fault)
    except PreparationError as error:
        raise SettingsError(error.key, error.problem, error.allowed) from None
    return preparation


def _read_config(sources: _Sources, file: Mapping[str, object], file_name: str) -> dict[str, str]:
    config: dict[str, str] = {}
    for key, entry in _table(file, file_name, "config").items():
        text = str(entry).lower() if isinstance(entry, bool) else str(entry)
        config[key] = _checked_config(f"{file_name}: config", key, text)
    for variable, key, text in sources.kafka.configs if sources.kafka is not None else ():
        config[key] = _checked_config(variable, key, text)
    option, value = sources.find("auto_create")
    if value is not None:
        wanted = value if isinstance(value, bool) else parse_flag(option, str(value))
        config["auto.create.topics.enable"] = "true" if wanted else "false"
    option, count = sources.text("default_partitions")
    if count is not None:
        config["num.partitions"] = str(parse_count(option, count))
    option, pairs = sources.find("set")
    if isinstance(pairs, str):
        pairs = [line for line in pairs.splitlines() if line.strip()]
    for pair in pairs if isinstance(pairs, list) else []:
        key, text = parse_pair(option, str(pair))
        config[key] = _checked_config(option, key, text)
    return config


def _checked_config(option: str, key: str, text: str) -> str:
    """The text of a broker config, or a SettingsError that names where it came from."""
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.config.errors import ConfigError

    try:
        BrokerConfig({key: text})
    except ConfigError as error:
        allowed = "a broker config under Kafka's name, with a value of its type and range"
        raise SettingsError(option, str(error), allowed) from None
    return text


def _table(file: Mapping[str, object], file_name: str, name: str) -> dict[str, object]:
    table = file.get(name, {})
    if not isinstance(table, dict):
        raise SettingsError(
            f"{file_name}: {name}", "it is not a table", f"[{name}] with key = value"
        )
    return table


def _list(file: Mapping[str, object], file_name: str, name: str) -> list[object]:
    entries = file.get(name, [])
    if not isinstance(entries, list):
        raise SettingsError(f"{file_name}: {name}", "it is not a list", f"[[{name}]] and its keys")
    return entries


def _read_file(file_name: str) -> dict[str, object]:
    import tomllib

    try:
        with open(file_name, "rb") as stream:
            file = tomllib.load(stream)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError("--config", f"{file_name}: {reason}", "a readable TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError("--config", f"{file_name}: {error}", "a valid TOML file") from None
    known = {key.replace("_", "-") for key in _KEYS} - {"topic", "set"}
    known |= {"topics", "config", "records", "faults"}
    for key in file:
        if key not in known:
            allowed = ", ".join(sorted(known))
            raise SettingsError("--config", f"{file_name} has an unknown key {key!r}", allowed)
    return file
