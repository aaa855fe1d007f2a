"""Which keys a batch of a produce request has: how many, and the one that most of its records have.

Called by `details`, where a line is made, and never on the way of a request. A batch of more than
MAX_BYTES, as it was sent, is not looked into: unpacking it would hold up the lines behind it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.records.batch import iterate_records

if TYPE_CHECKING:
    from mockbroker_protocol.primitives import Buffer
    from mockbroker_protocol.records.batch import BatchHeader

MAX_BYTES: Final = 1 << 16
MAX_UNPACKED_BYTES: Final = 1 << 20
MAX_TOLD_CHARS: Final = 64
NOT_LOOKED_AT: Final[dict[str, object]] = {"keys": None, "top_key": None, "top_key_records": None}


def keys_of(data: Buffer, pos: int, header: BatchHeader) -> dict[str, object]:
    """`keys`, `top_key`, `top_key_records` of a batch; null where it was not looked into.

    Records without a key count for no key. Keys that are no text are told in hexadecimal digits.
    """
    if header.batch_length > MAX_BYTES:
        return NOT_LOOKED_AT
    try:
        records = iterate_records(data, pos, header, max_bytes=MAX_UNPACKED_BYTES)
        counted = Counter(bytes(record.key) for record in records if record.key is not None)
    except ProtocolError:
        return NOT_LOOKED_AT
    if not counted:
        return {"keys": 0, "top_key": None, "top_key_records": 0}
    # Of keys as frequent as each other the least: the same line of the same batch.
    key, records_of_key = min(counted.items(), key=lambda item: (-item[1], item[0]))
    return {"keys": len(counted), "top_key": _told(key), "top_key_records": records_of_key}


def _told(key: bytes) -> str:
    try:
        text = key.decode()
    except UnicodeDecodeError:
        text = key.hex()
    return text if text.isprintable() and len(text) <= MAX_TOLD_CHARS else _short(text)


def _short(text: str) -> str:
    plain = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return plain if len(plain) <= MAX_TOLD_CHARS else plain[: MAX_TOLD_CHARS - 1] + "…"
