"""What holds for consumer groups: the broker's configs, and those of one group over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mockbroker.clock import Clock
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.group.consumer.assignment import Assignor
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.consumer.member import ConsumerMember

    # The value of a config, by group and name.
    GroupConfigs = Callable[[str, str], int]

# How long after its last change a group counts as unsettled.
SETTLE_MS: Final = 3000


@dataclass(slots=True, eq=False)
class ConsumerSettings:
    """`group_config` gives a config of a group, its own or what it falls back to.

    `extra_assignors` are those that an extension brings, for members that may ask for them.
    """

    _clock: Clock
    _config: BrokerConfig
    _group_config: GroupConfigs
    extra_assignors: Mapping[str, Assignor] = field(default_factory=dict)

    def session_timeout_ms(self, group_id: str) -> int:
        """How long a member may be silent."""
        return self._of_group(group_id, "session.timeout.ms")

    def assignment_interval_ms(self, group_id: str) -> int:
        """How long after one target the next is computed, at the earliest."""
        return self._of_group(group_id, "assignment.interval.ms")

    def heartbeat_interval_ms(self, group: ConsumerGroup, member: ConsumerMember) -> int:
        """When the member shall come again.

        While the group moves, members are asked to come sooner than the config says, where
        `mockbroker.group.settling.heartbeat.interval.ms` is set: each step of a rebalance waits
        for somebody's next heartbeat.
        """
        interval_ms = self._of_group(group.group_id, "heartbeat.interval.ms")
        settling_ms = self._config.int("mockbroker.group.settling.heartbeat.interval.ms")
        if not settling_ms or settling_ms >= interval_ms:
            return interval_ms
        is_settled = (
            self._clock.now_ms - group.bumped_ms > SETTLE_MS
            and group.epoch == group.assignment_epoch
            and member.is_reconciled_to(group.assignment_epoch)
        )
        return interval_ms if is_settled else settling_ms

    def default_assignor(self) -> str:
        """The first of the assignors that there are."""
        return self.assignors()[0]

    def assignors(self) -> tuple[str, ...]:
        """The names that members may ask for."""
        return self._config.list("group.consumer.assignors")

    def max_size(self) -> int:
        """How many members a group may have."""
        return self._config.int("group.consumer.max.size")

    def regex_refresh_ms(self) -> int:
        """How old the topics of an expression may be."""
        return self._config.int("group.consumer.regex.refresh.interval.ms")

    def migration_policy(self) -> str:
        """BIDIRECTIONAL, UPGRADE, DOWNGRADE or DISABLED."""
        return self._config.str("group.consumer.migration.policy").upper()

    def classic_max_size(self) -> int:
        """How many members a classic group may have."""
        return self._config.int("group.max.size")

    def _of_group(self, group_id: str, name: str) -> int:
        return self._group_config(group_id, f"consumer.{name}")
