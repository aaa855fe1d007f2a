"""The hash by which producers choose a partition for a key."""

from __future__ import annotations

from collections.abc import Sequence
from struct import unpack

_SEED = 0x9747B28C
_FACTOR = 0x5BD1E995
_LANE = b"\1\0\0\0\0\0\0\0"
_FEW = 4
_LONG = 256


def murmur2(data: bytes) -> int:
    """Kafka's hash of a key (Utils.murmur2), as an unsigned 32-bit number."""
    mask, factor = 0xFFFFFFFF, _FACTOR
    value = _SEED ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * factor & mask
        word = (word ^ word >> 24) * factor & mask
        value = value * factor & mask ^ word
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * factor & mask
    value = (value ^ value >> 13) * factor & mask
    return value ^ value >> 15


def murmur2_each(keys: Sequence[bytes]) -> list[int]:
    """The hashes of many keys; those of one length are hashed side by side."""
    by_size: dict[int, list[int]] = {}
    for at, key in enumerate(keys):
        by_size.setdefault(len(key), []).append(at)
    found = [0] * len(keys)
    for size, places in by_size.items():
        alike = [keys[at] for at in places]
        if len(alike) < _FEW or not 0 < size <= _LONG:
            hashes: Sequence[int] = [murmur2(key) for key in alike]
        else:
            hashes = _side_by_side(alike, size)
        for at, value in zip(places, hashes, strict=True):
            found[at] = value
    return found


def _side_by_side(keys: Sequence[bytes], size: int) -> Sequence[int]:
    """Of keys of one size: one number has 64 bits for each, so that no product reaches the next."""
    ones = int.from_bytes(_LANE * len(keys), "little")
    mask, factor = ones * 0xFFFFFFFF, _FACTOR
    value = ones * (_SEED ^ size)
    padding = bytes(-size % 4)
    words = memoryview(padding.join(keys) + padding).cast("I")
    row = bytearray(8 * len(keys))
    lanes = memoryview(row).cast("I")[::2]
    count = (size + 3) // 4
    for at in range(count):
        lanes[:] = words[at::count]  # moved and not looked at: the order of bytes stays
        word = int.from_bytes(row, "little")
        if at < size // 4:
            word = word * factor & mask
            word = ((word ^ word >> 24) & mask) * factor & mask
            value = value * factor & mask ^ word
        else:
            value = (value ^ word) * factor & mask
    value = ((value ^ value >> 13) & mask) * factor & mask
    value = (value ^ value >> 15) & mask
    return unpack(f"<{len(keys)}Q", value.to_bytes(8 * len(keys), "little"))
