"""The states of a classic group and the moves between them (Kafka: ClassicGroupState).

```
            join                    all joined, or rebalance time-out
  EMPTY ──────────▶ PREPARING_REBALANCE ─────────────────────▶ COMPLETING_REBALANCE
    ▲                 │    ▲      ▲                               │         │
    └─ nobody is left ┘    │      └── member came, left, failed ──┘         │ leader's sync
                           └─────────────────── STABLE ◀────────────────────┘
  any ── deleted, expired, or moved to another coordinator ──▶ DEAD
```
"""

from __future__ import annotations

from enum import Enum


class GroupState(Enum):
    """The value is the name that ListGroups and DescribeGroups show."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


VALID_PREVIOUS_STATES: dict[GroupState, frozenset[GroupState]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.PREPARING_REBALANCE: frozenset(
        {GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE}
    ),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING_REBALANCE}),
    GroupState.DEAD: frozenset(GroupState),
}
