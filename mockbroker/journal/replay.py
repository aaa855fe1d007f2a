"""What a fetch's line has beyond the others where it is to be run again: `fetch.replay`.

Called by those who write files, with the bytes of a request and of its answer. The request is there
as it came, in base64: all that it names, which the line itself lists in part only. Of the answer it
has what moves a reader on: the offset behind the records of each partition that had some.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Final

from mockbroker.journal.decoding import decode_response
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.primitives import uuid_text
from mockbroker_protocol.records.batch import iterate_batches

if TYPE_CHECKING:
    from mockbroker.journal.details import Line
    from mockbroker_protocol.frames import Frame
    from mockbroker_protocol.messages.fetch import FetchResponsePartition
    from mockbroker_protocol.primitives import Buffer

_FETCH: Final = int(ApiKey.FETCH)
_IDS_SINCE: Final = 13
"""From this version on Fetch names topics by id."""


def add_replay(line: Line, frame: Frame | None, chunks: list[Buffer] | None) -> None:
    """Put it into the line of a request, if that is a fetch."""
    fetch = line.get("fetch")
    if line.get("api_key") != _FETCH or not isinstance(fetch, dict) or frame is None:
        return
    version = int(str(line["version"]))
    answer = decode_response(_FETCH, version, chunks)
    told = answer if isinstance(answer, FetchResponse) else None
    fetch["replay"] = {
        "frame": b64encode(bytes(frame)).decode(),
        "error": 0 if told is None else told.error_code,
        "told": [] if told is None else _told(told, version),
    }


def _told(response: FetchResponse, version: int) -> list[list[object]]:
    """Topic, partition, the offset behind its records, and error, where one of both is there."""
    told: list[list[object]] = []
    for topic in response.responses:
        name = uuid_text(topic.topic_id) if version >= _IDS_SINCE else topic.topic
        for data in topic.partitions:
            offset = next_offset(data)
            if offset is not None or data.error_code:
                told.append([name, data.partition_index, offset, data.error_code])
    return told


def next_offset(data: FetchResponsePartition) -> int | None:
    """The offset behind the records that a partition was given; None when there are none."""
    records = data.records
    if not records:
        return None
    found = None
    try:
        for _, header in iterate_batches(
            b"".join(records) if isinstance(records, list) else records
        ):
            found = header.last_offset + 1
    except ProtocolError:  # the last one is cut, or they are messages of old
        pass
    return found
