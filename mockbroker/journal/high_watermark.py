"""What the journal tells of a high watermark that moved: one of each append, so it is compiled.

The other events are in `journal.events`, which tells this one with them.
"""

from __future__ import annotations

from typing import ClassVar

from mockbroker_protocol.native import mypyc_attr


@mypyc_attr(acyclic=True)
class HighWatermarkMoved:  # noqa: PLW1641 -- what is compared has no hash
    """The high watermark of a partition went from one offset to another.

    `follower` is the replica whose fetch moved it: the last one of the in-sync set to have the
    records; None when no fetch did.
    """

    __slots__ = (
        "after",
        "before",
        "broker_id",
        "follower",
        "log_end_offset",
        "partition",
        "topic",
    )

    _fields: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "topic",
        "partition",
        "before",
        "after",
        "log_end_offset",
        "follower",
    )

    def __init__(
        self,
        broker_id: int,
        topic: str,
        partition: int,
        before: int,
        after: int,
        log_end_offset: int,
        follower: int | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.topic = topic
        self.partition = partition
        self.before = before
        self.after = after
        self.log_end_offset = log_end_offset
        self.follower = follower

    def packed(self) -> tuple[int, str, int, int, int, int, int | None]:
        """What it tells, in the order of its line."""
        return (
            self.broker_id,
            self.topic,
            self.partition,
            self.before,
            self.after,
            self.log_end_offset,
            self.follower,
        )

    def values(self) -> dict[str, object]:
        """The fields by their names, in the order of the constructor."""
        return dict(zip(self._fields, self.packed(), strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HighWatermarkMoved) and other.packed() == self.packed()

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.values().items())
        return f"HighWatermarkMoved({fields})"
