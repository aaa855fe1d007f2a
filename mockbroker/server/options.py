"""Each option of a broker, once: its flag, variable, key in a file, argument, type and help.

A line of these two tables is the whole of an option. `cli.serve` makes the flag and looks the
option up in flags, variables and the file; `MockBroker` takes those of `BrokerOptions` as keyword
arguments of these types; `Settings` reads and keeps the values; docs/options.md lists them, and a
test holds it to this. What the broker does with an option stands where it reads
`settings.options[...]`.
"""

# The annotations are looked at when this is imported, so they are not all postponed.

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from mockbroker.server.values import (
    choice,
    parse_actions,
    parse_brokers,
    parse_cluster_id,
    parse_configs,
    parse_count,
    parse_faults,
    parse_flag,
    parse_host,
    parse_int32,
    parse_list,
    parse_number,
    parse_port,
    parse_ports,
    parse_size,
    parse_spin,
    parse_tables,
    parse_text,
    parse_token,
    parse_topics,
    parse_url,
    parse_users,
)

if TYPE_CHECKING:
    from os import PathLike
    from typing import Annotated, TypedDict

    from mockbroker.faults import Fault
else:
    # Those of `typing` would be a hundredth of a start: an annotation is a pair, a table a class.
    class Annotated:
        def __class_getitem__(cls, pair: object) -> object:
            return pair

    class TypedDict:
        def __init_subclass__(cls, *, total: bool) -> None:
            assert not total
            cls.__annotations__ = getattr(cls.__base__, "__annotations__", {}) | cls.__annotations__


VARIABLE_PREFIX: Final = "MOCKBROKER_"


class Option:
    """How an option is written and read.

    `flag` is its name on the command line and in a file (None: that of the argument, with dashes);
    without a `metavar` it is a yes or no, without a `text` it has neither flag nor variable.
    `many`: the flag may be repeated, and so the variable holds several. `table`: the file has it
    under this key, beside the flag's. `config`: it sets this broker config. `default` is the value
    when nothing is given.
    """

    __slots__ = ("config", "default", "flag", "many", "metavar", "name", "parse", "table", "text")

    def __init__(
        self,
        parse: Callable[[str, object], object],
        metavar: str,
        text: str,
        *,
        default: object = None,
        flag: str = "",
        many: str = "",
        table: str = "",
        config: str = "",
    ) -> None:
        self.parse = parse
        self.metavar = metavar
        self.text = text
        self.default = default
        self.flag = flag
        self.many = many
        self.table = table
        self.config = config
        self.name = ""

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return VARIABLE_PREFIX + self.flag.upper().replace("-", "_")

    def read(self, written: str, value: object) -> object:
        """The value, or the default for None. Raises SettingsError with the name as `written`."""
        found = None if value is None else self.parse(written, value)
        return self.default if found is None else found


class BrokerOptions(TypedDict, total=False):
    """What `MockBroker` takes, and `mockbroker serve` too."""

    host: Annotated[
        str,
        Option(parse_host, "H", "address to listen on (default 127.0.0.1)", default="127.0.0.1"),
    ]
    port: Annotated[
        int | Sequence[int],
        Option(
            parse_ports,
            "PORT[,PORT...]",
            "port to listen on, 0 for any free one (default: serve 9092, MockBroker 0); of several"
            " brokers the first, or one for each",
            default=(0,),
        ),
    ]
    brokers: Annotated[
        int | None, Option(parse_brokers, "N", "brokers, on ports from --port upwards (default 1)")
    ]
    racks: Annotated[
        Sequence[str],
        Option(
            parse_list, "RACK[,RACK...]", "racks of the brokers in turn", flag="rack", default=()
        ),
    ]
    listeners: Annotated[
        Sequence[str],
        Option(
            parse_list,
            "NAME://HOST:PORT",
            "listen there, instead of at --host and --port; repeatable; without a host at --host",
            default=(),
            flag="listener",
            many="separated by commas",
        ),
    ]
    advertised_listeners: Annotated[
        Sequence[str],
        Option(
            parse_list,
            "NAME://HOST:PORT",
            "what the clients of that listener are told; repeatable",
            default=(),
            flag="advertised-listener",
            many="separated by commas",
        ),
    ]
    advertised_host: Annotated[
        str | None,
        Option(
            parse_text,
            "H",
            "host that clients are told (default: the address that they connected to)",
        ),
    ]
    tls: Annotated[
        str | None,
        Option(
            choice("auto"),
            "auto",
            "make certificates for listeners with TLS, or for the one at --port (docs/security.md)"
            " (default: no TLS there, and the stores that ssl.* configs name)",
        ),
    ]
    tls_dir: Annotated[
        "str | PathLike[str] | None",
        Option(
            parse_text,
            "DIR",
            "write the certificates that --tls makes there, and leave them (default: a folder that"
            " goes with the broker)",
        ),
    ]
    tls_names: Annotated[
        Sequence[str],
        Option(
            parse_list,
            "HOST",
            "a host name or address that the broker's certificate is for too, beside localhost,"
            " 127.0.0.1, ::1 and what is advertised; repeatable",
            default=(),
            flag="tls-name",
            many="separated by commas",
        ),
    ]
    tls_clients: Annotated[
        Sequence[str],
        Option(
            parse_list,
            "NAME",
            "make a certificate of a client, CN=NAME; repeatable (default client)",
            default=("client",),
            flag="tls-client",
            many="separated by commas",
        ),
    ]
    users: Annotated[
        Mapping[str, str],
        Option(
            parse_users,
            "NAME:PASSWORD",
            "let a user log in by PLAIN and SCRAM, at listeners with SASL or else at the one at"
            " --port; repeatable (docs/security.md)",
            default={},
            flag="user",
            many="one a line",
            table="users",
        ),
    ]
    cluster_id: Annotated[
        str | None, Option(parse_cluster_id, "ID", "id of the cluster (default: drawn)")
    ]
    topics: Annotated[
        Mapping[str, int | Mapping[str, object] | None] | Iterable[str],
        Option(
            parse_topics,
            "NAME[:PARTITIONS]",
            "create a topic at start; repeatable",
            default={},
            flag="topic",
            many="separated by commas",
            table="topics",
        ),
    ]
    auto_create: Annotated[
        bool,
        Option(
            parse_flag,
            "",
            "create a topic when a client first asks for it (default yes)",
            config="auto.create.topics.enable",
        ),
    ]
    default_partitions: Annotated[
        int,
        Option(
            parse_count,
            "N",
            "partitions of a topic made without a count (default 1)",
            config="num.partitions",
        ),
    ]
    config: Annotated[
        Mapping[str, str | int | bool],
        Option(
            parse_configs,
            "KEY=VALUE",
            "a broker config under Kafka's name; repeatable",
            default={},
            flag="set",
            many="one a line",
            table="config",
        ),
    ]
    memory_limit: Annotated[
        int | str | None,
        Option(
            parse_size,
            "SIZE",
            "bytes of batches that each broker's logs hold at most, such as 512M or 2G; the oldest"
            " segments go first (docs/limits.md) (default: without end)",
            config="mockbroker.memory.limit.bytes",
        ),
    ]
    spin: Annotated[
        int,
        Option(
            parse_spin,
            "MICROSECONDS",
            "look for more requests so long before sleeping, up to 100000: answers come sooner"
            " where a processor is slow to wake up, and one is busy as long (docs/performance.md)"
            " (default 0)",
            config="mockbroker.spin.us",
        ),
    ]
    records: Annotated[
        Sequence[Mapping[str, object]], Option(parse_tables, "", "", default=(), table="records")
    ]
    restore: Annotated[
        str | None, Option(parse_text, "FILE", "begin with what this snapshot holds")
    ]
    seed: Annotated[int | None, Option(parse_number, "N", "make random ids repeatable")]
    freeze_clock: Annotated[
        bool,
        Option(parse_flag, "", "start with a time that stands still (default no)", default=False),
    ]
    faults: Annotated[
        "Iterable[Fault | Mapping[str, object]]",
        Option(
            parse_faults,
            "JSON|@FILE",
            "arm a fault rule, or a list of them, from the start; repeatable (docs/faults.md)",
            default=(),
            flag="fault",
            many="one, or a JSON list",
            table="faults",
        ),
    ]
    cluster_actions: Annotated[
        "Iterable[Mapping[str, object]]",
        Option(
            parse_actions,
            "JSON|@FILE",
            "do this to the cluster once it runs, one action or a list; repeatable"
            " (docs/cluster.md)",
            default=(),
            flag="cluster-action",
            many="one, or a JSON list",
            table="cluster",
        ),
    ]
    strict: Annotated[
        bool,
        Option(
            parse_flag,
            "",
            "a request that is refused fails the test which sent it (docs/faults.md) (default no)",
            default=False,
        ),
    ]
    journal: Annotated[
        "str | PathLike[str] | None",
        Option(
            parse_text,
            "DIR",
            "write what happens into files there, a JSON object a line (docs/journal.md)",
        ),
    ]
    journal_replication: Annotated[
        bool,
        Option(
            parse_flag,
            "",
            "journal what followers fetch from leaders too (default no)",
            default=False,
        ),
    ]
    journal_replay: Annotated[
        bool,
        Option(
            parse_flag,
            "",
            "journal what `pipeline what-if` needs: fetches as they came, batches by their headers"
            " (docs/what-if.md) (default no)",
            default=False,
        ),
    ]
    client_telemetry: Annotated[
        bool,
        Option(
            parse_flag,
            "",
            "receive metrics of clients, KIP-714 (default no, as Apache Kafka without a receiver)",
            config="mockbroker.client.telemetry",
        ),
    ]
    controller_port: Annotated[
        int | None,
        Option(
            parse_port,
            "PORT",
            "serve the metadata log to brokers of Apache Kafka and to raft observers on this port,"
            " 0 for any free one (default: not at all)",
        ),
    ]
    admin_port: Annotated[
        int | None,
        Option(
            parse_port,
            "PORT",
            "serve the admin API on this port, 0 for any free one (default: not at all)",
        ),
    ]
    admin_host: Annotated[
        str,
        Option(
            parse_text, "H", "address of the admin API (default 127.0.0.1)", default="127.0.0.1"
        ),
    ]
    admin_token: Annotated[
        str | None,
        Option(
            parse_token, "T", "bearer token of the admin API; needed unless its address is loopback"
        ),
    ]
    admin_tls: Annotated[
        bool,
        Option(
            parse_flag,
            "",
            "the admin API is HTTPS, by the broker's ssl.* configs, or its own:"
            " listener.name.admin.ssl.* (default no)",
            default=False,
        ),
    ]
    admin_max_connections: Annotated[
        int,
        Option(
            parse_int32, "N", "connections to the admin API at a time (default 100)", default=100
        ),
    ]
    admin_max_request_bytes: Annotated[
        int,
        Option(
            parse_int32,
            "N",
            "largest body of a request to the admin API (default 33554432)",
            default=32 << 20,
        ),
    ]
    admin_timeout_ms: Annotated[
        int,
        Option(
            parse_int32,
            "MS",
            "real time in which a request to the admin API must arrive, and its answer be read"
            " (default 30000)",
            default=30_000,
        ),
    ]
    schema_registry: Annotated[
        str | None,
        Option(
            parse_url,
            "URL",
            "the registry that the admin API and its console decode Avro and Protobuf by, as"
            " Confluent's: http://[USER:PASSWORD@]HOST:PORT (default: none)",
        ),
    ]


class ServeOptions(BrokerOptions, total=False):
    """What a process takes beside that: `mockbroker serve`."""

    kafka_env: Annotated[
        bool,
        Option(
            parse_flag,
            "",
            "heed CLUSTER_ID and KAFKA_ variables, as Apache Kafka's image does; the image of"
            " mockbroker does so (default no)",
            default=False,
        ),
    ]
    ready_file: Annotated[
        str | None,
        Option(
            parse_text,
            "PATH",
            "write JSON with bootstrap, brokers, cluster_id and pid there once clients may connect",
        ),
    ]
    snapshot: Annotated[
        str | None, Option(parse_text, "FILE", "write what the broker holds there when it ends")
    ]
    log_level: Annotated[
        str,
        Option(
            choice("debug", "info", "warning", "error"),
            "LEVEL",
            "debug, info, warning, error (default info; debug: a line a request)",
            default="info",
        ),
    ]
    log_format: Annotated[
        str,
        Option(
            choice("auto", "console", "json"),
            "FORMAT",
            "console for people, json for machines, auto: console on a terminal (default)",
            default="auto",
        ),
    ]


def _table() -> dict[str, Option]:
    options: dict[str, Option] = {}
    for name, (_, option) in ServeOptions.__annotations__.items():
        option.name = name
        if option.text and not option.flag:
            option.flag = name.replace("_", "-")
        options[name] = option
    return options


OPTIONS: Final = _table()
"""Every option by the name of its argument, in the order of the help."""
