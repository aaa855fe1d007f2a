"""Slots of many keys at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.coop.batch_index import NO_SLOT
from mockbroker.coop.key_filter import record_slot, slots_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_KEYS: Final = 16_384
_LONGEST_KEY: Final = 64


class Slots:
    """Remembers the slots of short keys: a partition has the same ones again and again."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes | None, int] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(
        self, keys: Sequence[bytes | None], base_offset: int, deltas: Sequence[int], null_keys: str
    ) -> list[int]:
        """The slots of a batch's records."""
        known = self._known
        try:
            return list(map(known.__getitem__, keys))
        except KeyError:
            pass
        strangers = [key for key in {*keys} if key is not None and key not in known]
        found = dict(zip(strangers, slots_of(strangers), strict=True))
        slots = []
        for key, delta in zip(keys, deltas, strict=True):
            if key is None:
                slot = record_slot(None, base_offset + delta, null_keys)
                slots.append(NO_SLOT if slot is None else slot)
            else:
                slot = found.get(key)
                slots.append(known[key] if slot is None else slot)
        if len(known) + len(found) > _MOST_KEYS:
            known.clear()
        if len(found) <= _MOST_KEYS:
            known.update((key, slot) for key, slot in found.items() if len(key) <= _LONGEST_KEY)
        return slots

    def clear(self) -> None:
        """Forget the keys."""
        self._known.clear()
