"""Configs of single groups: each group's own over the broker config behind it over a default.

`MetadataStore.group_config` keeps one `GroupConfig` a group that someone asked for; the group
coordinators look their times and limits up there, as `config.int("consumer.session.timeout.ms")`.
A group may be configured before it exists, and DescribeConfigs answers for any name (Kafka:
GroupConfig, GroupConfigManager).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from mockbroker.config.definition import ConfigDefinition, format_value
from mockbroker.config.errors import ConfigError
from mockbroker.config.lookups import TypedLookups
from mockbroker.config.registry import BROKER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.config.broker import BrokerConfig

# A row of a definition table, and the broker config behind it or `-`.
GROUP_DEFINITIONS: Final = """\
consumer.assignment.interval.ms INT 1000 0.. Md group.consumer.assignment.interval.ms
consumer.heartbeat.interval.ms INT 5000 1.. Md group.consumer.heartbeat.interval.ms
consumer.session.timeout.ms INT 45000 1.. Md group.consumer.session.timeout.ms
errors.deadletterqueue.copy.record.enable BOOLEAN false - Md -
errors.deadletterqueue.topic.name STRING '' - Md -
share.assignment.interval.ms INT 1000 0.. Md group.share.assignment.interval.ms
share.auto.offset.reset STRING latest - Md -
share.delivery.count.limit INT 5 2.. Md group.share.delivery.count.limit
share.heartbeat.interval.ms INT 5000 1.. Md group.share.heartbeat.interval.ms
share.isolation.level STRING read_uncommitted =read_committed|read_uncommitted Md -
share.partition.max.record.locks INT 2000 100.. Md group.share.partition.max.record.locks
share.record.lock.duration.ms INT 30000 1000.. Md group.share.record.lock.duration.ms
share.renew.acknowledge.enable BOOLEAN true - Md -
share.session.timeout.ms INT 45000 1.. Md group.share.session.timeout.ms
streams.assignment.interval.ms INT 1000 0.. Md group.streams.assignment.interval.ms
streams.assignor.name STRING sticky - Md group.streams.assignors
streams.heartbeat.interval.ms INT 5000 1.. Md group.streams.heartbeat.interval.ms
streams.initial.rebalance.delay.ms INT 3000 0.. Md group.streams.initial.rebalance.delay.ms
streams.num.standby.replicas INT 0 0.. Md group.streams.num.standby.replicas
streams.rack.aware.assignment.tags LIST '' - Md group.streams.rack.aware.assignment.tags
streams.session.timeout.ms INT 45000 1.. Md group.streams.session.timeout.ms
"""

_ASSIGNOR: Final = "streams.assignor.name"
_OFFSET_RESET: Final = "share.auto.offset.reset"
_DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"
_STANDBYS: Final = "streams.num.standby.replicas"


class GroupConfig(TypedLookups):
    """The configs of one group; `overrides` are its own, already validated."""

    __slots__ = ("broker", "overrides")

    def __init__(self, overrides: Mapping[str, str], broker: BrokerConfig) -> None:
        super().__init__(lambda name: require(name).parse(self.text(name)))
        self.overrides = overrides
        self.broker = broker

    def text(self, name: str) -> str | None:
        """The text in force."""
        text = self.overrides.get(name)
        return self.inherited(name) if text is None else text

    def inherited(self, name: str) -> str | None:
        """What holds without an override: the broker's value, or the default."""
        definition, broker_name = definitions()[name]
        if broker_name is None:
            return definition.default
        text = format_value(self.broker.value(broker_name))
        # The first of the registered assignors stands for those that name none.
        return text.split(",")[0] if text and name == _ASSIGNOR else text

    def validate(self) -> None:
        """Check the overrides (GroupConfig.validate); raises ConfigError."""
        for name in self.overrides:
            require(name)
        for name in self.overrides:
            self.value(name)
        for name in self.overrides:
            self._check(name)
        for kind in ("consumer", "share", "streams"):
            session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
            if self.int(session) <= self.int(heartbeat) and {session, heartbeat} & set(
                self.overrides
            ):
                raise ConfigError(f"{session} must be greater than {heartbeat}")

    def _check(self, name: str) -> None:
        value = self.value(name)
        if name == _OFFSET_RESET:
            _check_offset_reset(str(value))
        elif name == _DEAD_LETTERS and str(value).startswith("__"):
            raise ConfigError(f"{name}: DLQ topic name must not start with '__'")
        elif name == _ASSIGNOR:
            known = self.broker.list("group.streams.assignors")
            if value not in known:
                raise ConfigError(
                    f"{name} '{value}' is not a registered task assignor. "
                    f"Registered assignors are: [{', '.join(known)}]."
                )
        elif isinstance(value, int):
            self._check_range(name, value)

    def _check_range(self, name: str, value: float) -> None:
        """The broker's own limits, group.KIND.min.* and group.KIND.max.*."""
        if name == _STANDBYS:
            most = self.broker.int("group.streams.max.standby.replicas")
            if value > most:
                raise ConfigError(f"{name} must be less than or equal to {most}")
            return
        kind, _, rest = name.partition(".")
        lowest, highest = f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest}"
        if BROKER.get(lowest) is None or BROKER.get(highest) is None:
            return
        low, high = self.broker.int(lowest), self.broker.int(highest)
        if not low <= value <= high:
            raise ConfigError(f"{name} must be in the range {low} to {high} inclusive.")


@lru_cache(maxsize=1)
def definitions() -> dict[str, tuple[ConfigDefinition, str | None]]:
    """Each key's definition and the broker config behind it."""
    found: dict[str, tuple[ConfigDefinition, str | None]] = {}
    for line in GROUP_DEFINITIONS.splitlines():
        row, _, broker_name = line.rpartition(" ")
        definition = ConfigDefinition.from_row(row)
        found[definition.name] = definition, None if broker_name == "-" else broker_name
    return found


def require(name: str) -> ConfigDefinition:
    """The definition of a key; ConfigError when there is none."""
    known = definitions().get(name)
    if known is None:
        raise ConfigError(f"Unknown group config name: {name}")
    return known[0]


def _check_offset_reset(text: str) -> None:
    # Kafka: ShareGroupAutoOffsetResetStrategy; a duration is never negative.
    if text in ("earliest", "latest") or (
        text.startswith("by_duration:") and _is_duration(text.removeprefix("by_duration:"))
    ):
        return
    problem = f"alid value `{text}` for configuration {_OFFSET_RESET}. The value must be either "
    raise ConfigError(
        f"Invalid value {text} for configuration {_OFFSET_RESET}: Inv{problem}"
        "'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    )


def _is_duration(text: str) -> bool:
    """Whether `java.time.Duration.parse` takes it, and it is not negative."""
    import re

    number = r"\+?\d+"
    seconds = rf"{number}(?:[.,]\d{{0,9}})?S"
    times = rf"(?:T(?=.)(?:{number}H)?(?:{number}M)?(?:{seconds})?)?"
    return re.fullmatch(rf"P(?=.)(?:{number}D)?{times}", text, re.IGNORECASE) is not None
