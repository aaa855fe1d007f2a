"""Configs of single groups: each group's own over the broker config behind it over a default.

`MetadataStore.group_config` keeps one `GroupConfig` a group that someone asked for; the group
coordinators look their times and limits up there, as `config.int("consumer.session.timeout.ms")`.
A group may be configured before it exists, and DescribeConfigs answers for any name (Kafka:
GroupConfig, GroupConfigManager).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.definition import format_value
from mockbroker.config.errors import ConfigError
from mockbroker.config.lookups import TypedLookups
from mockbroker.config.registry import BROKER, GROUP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.config.broker import BrokerConfig

_ASSIGNOR: Final = "streams.assignor.name"
_OFFSET_RESET: Final = "share.auto.offset.reset"
_DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"
_STANDBYS: Final = "streams.num.standby.replicas"


class GroupConfig(TypedLookups):
    """The configs of one group; `overrides` are its own, already validated."""

    __slots__ = ("broker", "overrides")

    def __init__(self, overrides: Mapping[str, str], broker: BrokerConfig) -> None:
        super().__init__(lambda name: GROUP.require(name).parse(self.text(name)))
        self.overrides = overrides
        self.broker = broker

    def text(self, name: str) -> str | None:
        """The text in force."""
        text = self.overrides.get(name)
        return self.inherited(name) if text is None else text

    def inherited(self, name: str) -> str | None:
        """What holds without an override: the broker's value, or the default."""
        definition = GROUP.require(name)
        if not definition.behind:
            return definition.default
        ((broker_name, _),) = definition.behind
        text = format_value(self.broker.value(broker_name))
        # The first of the registered assignors stands for those that name none.
        return text.split(",")[0] if text and name == _ASSIGNOR else text

    def validate(self) -> None:
        """Check the overrides (GroupConfig.validate); raises ConfigError."""
        for name in self.overrides:
            GROUP.require(name)
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
