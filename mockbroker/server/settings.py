"""What a broker is started with, from whichever side it came: flags, environment, TOML, Python.

`cli.serve` and `MockBroker` make a `Settings` of the options in `options`; `app`, `launch` and
`event_log` read it. A bad value raises `SettingsError` with one line that names the option, what
is wrong and what is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from mockbroker.config.security_protocol import PROTOCOL_MAP
from mockbroker.server.listeners import (
    DEFAULT_NAME,
    Address,
    Listener,
    ListenerError,
    advertise,
    client_entries,
    count_up,
    make_listeners,
    parse_addresses,
    secure,
)
from mockbroker.server.options import OPTIONS, ServeOptions
from mockbroker.server.values import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from mockbroker.faults import Fault
    from mockbroker.state.preparation import Preparation

# Kafka's names of two options, which win over them.
_LISTENER_OPTIONS: Final = {
    "listeners": "listeners",
    "advertised.listeners": "advertised_listeners",
}
_INTER_BROKER_LISTENER: Final = "inter.broker.listener.name"
_INTER_BROKER_PROTOCOL: Final = "security.inter.broker.protocol"
_PRINCIPAL_BUILDER: Final = "principal.builder.class"
_OWN_BUILDER: Final = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"


class Settings:
    """Everything a broker needs to know before it starts.

    `options` has each option with its value or default. Made of them are: `topics`, partitions by
    name (None: `num.partitions`), `preparation`, what the broker holds before its first client
    beside those topics; `config`, broker configs under Kafka's names, as text; `brokers`, how many
    there are, and the `racks` of each; `listeners`, of which the first has `host` and `ports`.
    `named_listeners`: they were asked for by name.

    `written` has the names of options, and of Kafka's configs that have a variable of their own, as
    the user wrote them, for errors; files that the options name are looked for in `folder`.
    """

    __slots__ = (
        "_written",
        "brokers",
        "config",
        "faults",
        "listeners",
        "named_listeners",
        "options",
        "preparation",
        "racks",
        "topics",
    )

    def __init__(
        self,
        written: Mapping[str, str] | None = None,
        folder: str = "",
        /,
        **options: Unpack[ServeOptions],
    ) -> None:
        for name in options:
            if name not in OPTIONS:
                raise TypeError(_no_such_option(name))
        self._written = dict(written or {})
        values = {
            name: option.read(self.written(name), options.get(name))
            for name, option in OPTIONS.items()
        }
        self.options = cast("ServeOptions", values)
        self.config: dict[str, str] = self._read_config(values)
        self._take_listeners()
        if self.options["users"]:
            self._take_users()
        ports = cast("Sequence[int]", values["port"])
        self.brokers = cast("int | None", values["brokers"]) or len(ports)
        if len(ports) not in (1, self.brokers):
            self._refuse(
                "brokers",
                f"{self.brokers} brokers and {len(ports)} ports",
                "one port, or as many as brokers",
            )
        self.racks = list(self.options["racks"])
        if len(self.racks) not in (0, self.brokers):
            self._refuse(
                "racks", f"{len(self.racks)} racks for {self.brokers} broker(s)", "one a broker"
            )
        self.named_listeners = bool(
            self.options["listeners"] or self.options["advertised_listeners"]
        )
        if self.options["listeners"] and options.get("port") is not None:
            option = self.written("listeners")
            self._refuse("listeners", "not beside a port", f"{option} or --port, not both")
        self.listeners = self._read_listeners(ports)
        self._secure_listeners()
        if self.options["users"]:
            from mockbroker.server.users import check_listeners

            check_listeners(self.written("users"), self.listeners)
        if self.options["tls"] is not None:
            self._check_made_stores()
        self.faults = cast("list[Fault | Mapping[str, object]]", values["faults"])
        topics = cast("dict[str, int | Mapping[str, object] | None]", values["topics"])
        self.topics = {
            name: wanted for name, wanted in topics.items() if not isinstance(wanted, Mapping)
        }
        self.preparation = self._read_preparation(topics, folder)

    @property
    def host(self) -> str:
        """The address of the first listener."""
        return self.listeners[0].host

    @property
    def ports(self) -> list[int]:
        """The port of each broker, at the first listener; 0 is any free one."""
        return self.listeners[0].ports

    def written(self, name: str) -> str:
        """An option's name as the user wrote it: `--port`, `MOCKBROKER_PORT` or `port`."""
        return self._written.get(name, name)

    def written_config(self, key: str) -> str:
        """A broker config's name as the user wrote it: `--set num.partitions`, or its variable."""
        return self._written.get(key) or f"{self.written('config')} {key}"

    def set_for(self, listener: str, *keys: str) -> str:
        """Which of the keys is set, first those for the listener; else the last one."""
        own = [f"listener.name.{listener.lower()}.{key}" for key in keys]
        return next((key for key in (*own, *keys) if key in self.config), keys[-1])

    @property
    def listener_option(self) -> str:
        """Who asked for listeners by name."""
        return self.written("listeners" if self.options["listeners"] else "advertised_listeners")

    def _refuse(self, name: str, problem: str, allowed: str) -> None:
        raise SettingsError(self.written(name), problem, allowed)

    def _read_config(self, values: Mapping[str, object]) -> dict[str, str]:
        config = {
            option.config: str(values[name]).lower()
            for name, option in OPTIONS.items()
            if option.config and values[name] is not None
        }
        config.update(cast("dict[str, str]", values["config"]))
        return config

    def _take_listeners(self) -> None:
        """Kafka's own configs for listeners are as the options; those of controllers are none."""
        options = cast("dict[str, object]", self.options)
        for key, name in _LISTENER_OPTIONS.items():
            entries = client_entries(self.config, key)
            if not self.config.pop(key, "").strip() or options[name]:
                continue
            self._written[name] = self.written_config(key)
            if not entries and name == "listeners":
                problem = "all of them are listeners of a controller"
                self._refuse(name, problem, "a listener for clients beside it")
            options[name] = entries

    def _check_login(self, listener: Listener) -> None:
        """See that clients can log in with what is configured for a listener."""
        from mockbroker.config.broker import BrokerConfig
        from mockbroker.config.logins import login_problem

        found = login_problem(BrokerConfig(self.config), listener.name)
        if found is not None:
            raise SettingsError(self.written_config(found.key), found.problem, found.allowed)

    def _secure_listeners(self) -> None:
        """Give each listener its security protocol, and check what is said of brokers' own."""
        try:
            secure(self.listeners, self.config.get(PROTOCOL_MAP))
        except ListenerError as error:
            raise SettingsError(
                self.written_config(PROTOCOL_MAP), error.problem, error.allowed
            ) from None
        name = self.config.get(_INTER_BROKER_LISTENER)
        for listener in self.listeners:
            if listener.protocol.has_sasl:
                self._check_login(listener)
        for key, text in self.config.items():
            if key.endswith(_PRINCIPAL_BUILDER) and text.strip() != _OWN_BUILDER:
                problem = f"no class of Java names principals here: {text}"
                raise SettingsError(self.written_config(key), problem, _OWN_BUILDER)
        if name is None:
            return
        # Kafka: AbstractKafkaConfig.getInterBrokerListenerNameAndSecurityProtocol.
        option = self.written_config(_INTER_BROKER_LISTENER)
        if _INTER_BROKER_PROTOCOL in self.config:
            raise SettingsError(option, f"not beside {_INTER_BROKER_PROTOCOL}", "one of them")
        names = [listener.name for listener in self.listeners]
        if name.strip().upper() not in names:
            raise SettingsError(
                option, f"there is no listener {name}", f"one of {', '.join(names)}"
            )

    def _take_users(self) -> None:
        """Let them log in by what Kafka's own configs say."""
        from mockbroker.server.users import user_configs

        written = self.written("users")
        self.config = user_configs(written, self.options["users"], self.config)

    def _default_name(self) -> str:
        """Of the listener at --port."""
        tls = self.options["tls"] is not None
        if self.options["users"]:
            from mockbroker.server.users import default_listener

            name = default_listener(self.config, tls=tls)
            if name is not None:
                return name
        return "SSL" if tls else DEFAULT_NAME

    def _read_listeners(self, ports: Sequence[int]) -> list[Listener]:
        options, asked = self.options, "port"
        name = self._default_name()
        try:
            if not self.named_listeners:
                spread = list(ports)
                if len(ports) != self.brokers:
                    spread = count_up(ports[0], self.brokers)
                host = options["advertised_host"]
                return [Listener(name, options["host"], spread, host)]
            asked = "listeners"
            bound = parse_addresses(options["listeners"]) or [Address(name, "", ports[0])]
            listeners = make_listeners(
                bound,
                default_host=options["host"],
                advertised_host=options["advertised_host"],
                brokers=self.brokers,
            )
            asked = "advertised_listeners"
            advertise(listeners, parse_addresses(options["advertised_listeners"]), self.brokers)
        except ListenerError as error:
            raise SettingsError(self.written(asked), error.problem, error.allowed) from None
        return listeners

    def _check_made_stores(self) -> None:
        """Refuse a config that names what is to be made, and what nothing would need."""
        protocols = [listener.protocol for listener in self.listeners]
        if not self.options["admin_tls"] and not any(each.has_tls for each in protocols):
            allowed = "--listener SSL://HOST:PORT, or no --listener"
            self._refuse("tls", "no listener has TLS", allowed)
        for key in self.config:
            if key.startswith(("ssl.keystore.", "ssl.truststore.")):
                self._refuse("tls", f"not beside {key}", "one of them")

    def _read_preparation(
        self, topics: Mapping[str, int | Mapping[str, object] | None], folder: str
    ) -> Preparation | None:
        """Topics with more than a count, records and a snapshot; None without any."""
        tables = {name: each for name, each in topics.items() if isinstance(each, Mapping)}
        records, snapshot = self.options["records"], self.options["restore"]
        if not (tables or records or snapshot):
            return None
        from mockbroker.state.preparation import Preparation, PreparationError

        preparation = Preparation()
        try:
            if snapshot:
                preparation.restore(self.written("restore"), snapshot)
            for name, table in tables.items():
                preparation.add_topic(f"{self.written('topics')}.{name}", name, table, folder)
            for at, record in enumerate(records):
                preparation.add_record(f"{self.written('records')}[{at}]", record)
        except PreparationError as error:
            raise SettingsError(error.key, error.problem, error.allowed) from None
        return preparation


def _no_such_option(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, OPTIONS, n=1)
    return f"there is no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
