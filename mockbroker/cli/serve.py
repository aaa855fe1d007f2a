"""`mockbroker serve`: its flags, and what was asked for by flags, variables and the file.

`main` calls it. An option is looked up in the flags, then in the variables, then in the file
(`server.options` has them all); a table of the file, such as [topics], is there beside the flags.
A mistake raises `SettingsError`, one line that names what the user wrote.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final, cast

from mockbroker.server.options import OPTIONS, VARIABLE_PREFIX, ServeOptions
from mockbroker.server.settings import Settings
from mockbroker.server.values import SettingsError, parse_flag, read_faults

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.server.kafka_environment import KafkaEnvironment
    from mockbroker.server.options import Option

DEFAULT_PORT: Final = 9092
CONFIG_VARIABLE: Final = "MOCKBROKER_CONFIG"
# Variables of other commands, of the pytest plugin and of our own tests.
_NO_OPTIONS: Final = tuple(
    VARIABLE_PREFIX + name for name in ("CONFIG", "ADMIN", "BOOTSTRAP", "PURE", "SPARK_JARS")
)
# What Kubernetes and Docker's links tell a container of a service that is named mockbroker.
_OF_A_SERVICE: Final = tuple(
    VARIABLE_PREFIX + name for name in ("SERVICE_", "PORT_", "ENV_", "NAME")
)
_OF_TESTS: Final = VARIABLE_PREFIX + "TEST_"
_SERVICE_ADDRESS: Final = "tcp://"


def add_flags(serve: argparse.ArgumentParser) -> None:
    """Give the parser a flag for each option; one that is not given is None."""
    serve.add_argument(
        "--config", metavar="FILE.toml", help=f"read settings from a file [{CONFIG_VARIABLE}]"
    )
    for option in OPTIONS.values():
        if not option.text:
            continue
        variable = f"{option.variable}, {option.many}" if option.many else option.variable
        text = f"{option.text} [{variable}]"
        if not option.metavar:
            action = argparse.BooleanOptionalAction
            serve.add_argument(f"--{option.flag}", action=action, help=text)
            continue
        action_name = "append" if option.many else "store"
        serve.add_argument(
            f"--{option.flag}", action=action_name, metavar=option.metavar, help=text
        )


def read_options(
    flags: Mapping[str, object], environment: Mapping[str, str]
) -> tuple[Settings, list[str]]:
    """The settings, and the variables that name nothing in Kafka. Raises SettingsError."""
    refuse_unknown_variables(environment)
    file_name = str(flags.get("config") or environment.get(CONFIG_VARIABLE) or "")
    sources = _Sources(flags, environment, file_name)
    for option in OPTIONS.values():
        sources.read(option)
    kafka, values, written = sources.kafka, sources.values, sources.written
    if kafka is not None and kafka.cluster_id and not values.get("cluster_id"):
        values["cluster_id"], written["cluster_id"] = kafka.cluster_id, "CLUSTER_ID"
    if not values.get("listeners") and "listeners" not in cast("dict[str, str]", values["config"]):
        values.setdefault("port", DEFAULT_PORT)
    folder = file_name.rpartition("/")[0]
    settings = Settings(written, folder, **cast("ServeOptions", values))
    return settings, kafka.ignored if kafka is not None else []


class _Sources:
    """Flags, variables and the file; `values` is what was found, `written` under which name."""

    def __init__(
        self, flags: Mapping[str, object], environment: Mapping[str, str], file_name: str
    ) -> None:
        self._flags = flags
        self._environment = environment
        self._file = _read_file(file_name) if file_name else {}
        self._file_name = file_name
        self.values: dict[str, object] = {}
        self.written: dict[str, str] = {}
        self.kafka: KafkaEnvironment | None = None
        where, wanted = self._find(OPTIONS["kafka_env"])
        if wanted is not None and parse_flag(where, wanted):
            from mockbroker.server.kafka_environment import translate
            from mockbroker.server.kafka_secrets import with_secrets

            self.kafka = translate(with_secrets(environment))

    def read(self, option: Option) -> None:
        """Look one option up; what is there is read."""
        parts: list[object] = []
        if option.table in self._file:
            where = f"{self._file_name}: {option.table}"
            parts.append(self._parse(option, where, self._table(option, where)))
            self.written[option.name] = where
        if option.name == "config":
            parts = [self._configs(parts)]
        where, value = self._find(option) if option.flag else ("", None)
        if value is not None:
            parts.append(self._parse(option, where, value))
            self.written.setdefault(option.name, where)
        if parts:
            self.values[option.name] = _merged(parts)

    def _find(self, option: Option) -> tuple[str, object | None]:
        """The option's name as the user wrote it, and its value or None."""
        value = self._flags.get(option.flag.replace("-", "_"))
        if value is not None:
            return f"--{option.flag}", value
        text = self._environment.get(option.variable)
        if text and not text.startswith(_SERVICE_ADDRESS):
            return option.variable, text
        key = option.flag
        held = None if key == option.table else self._file.get(key)
        return f"{self._file_name}: {key}", held

    def _table(self, option: Option, where: str) -> object:
        table = self._file[option.table]
        if isinstance(option.default, dict):
            if not isinstance(table, dict):
                allowed = f"[{option.table}] with key = value"
                raise SettingsError(where, "it is not a table", allowed)
        elif not isinstance(table, list):
            raise SettingsError(where, "it is not a list", f"[[{option.table}]] and its keys")
        return table

    def _parse(self, option: Option, where: str, value: object) -> object:
        found = option.read(where, value)
        if option.name == "config":
            _check_configs(where, cast("dict[str, str]", found))
        elif option.name == "faults":
            return [
                fault
                for at, entry in enumerate(cast("list[object]", found))
                for fault in (
                    read_faults(f"{where}[{at}]", entry) if isinstance(entry, dict) else [entry]
                )
            ]
        return found

    def _configs(self, from_file: list[object]) -> dict[str, str]:
        """Configs of the file and of Kafka's variables, without those that an option sets."""
        configs = dict(cast("dict[str, str]", from_file[0])) if from_file else {}
        for variable, key, text in self.kafka.configs if self.kafka is not None else ():
            _check_configs(variable, {key: text})
            configs[key] = text
            self.written[key] = variable
        for option in OPTIONS.values():
            if option.config and option.name in self.values:
                configs.pop(option.config, None)
        return configs


def _merged(parts: list[Any]) -> object:
    """What the file's table has and what the flags have, as one."""
    first = parts[0]
    for part in parts[1:]:
        first = {**first, **part} if isinstance(first, dict) else [*first, *part]
    return cast("object", first)


def _check_configs(where: str, configs: Mapping[str, str]) -> None:
    """Raise SettingsError unless each is a broker config with a value of its type."""
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.config.errors import ConfigError

    for key, text in configs.items():
        try:
            BrokerConfig({key: text})
        except ConfigError as error:
            allowed = "a broker config under Kafka's name, with a value of its type and range"
            raise SettingsError(where, str(error), allowed) from None


def refuse_unknown_variables(environment: Mapping[str, str]) -> None:
    """A slip in a variable's name would start a broker that is not the one wanted."""
    known = {*_NO_OPTIONS, *(option.variable for option in OPTIONS.values() if option.flag)}
    for variable, text in environment.items():
        if not variable.startswith(VARIABLE_PREFIX) or not text or variable in known:
            continue
        if not variable.startswith((*_OF_A_SERVICE, _OF_TESTS)):
            raise SettingsError(variable, "there is no such variable", _nearest(variable, known))


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
    known = {key for option in OPTIONS.values() for key in (option.flag, option.table) if key}
    for key in file:
        if key not in known:
            problem = f"{file_name} has an unknown key {key!r}"
            raise SettingsError("--config", problem, _nearest(key, known))
    return file


def _nearest(name: str, known: set[str]) -> str:
    """The names that look like it, else all of them."""
    from difflib import get_close_matches

    return ", ".join(get_close_matches(name, sorted(known), n=3) or sorted(known))
