"""Fetch by hand, versions 3 to 18: the hottest messages of a broker, written for speed.

    request = decode_fetch_request(frame, header.body_pos, header.api_version)
    chunks = encode_fetch_response(response, header.api_version)

The connection boundary calls these two for every poll; a follower's fetcher and the tests call the
other two, which leave versions before 12 to their plans. All four speak the classes of
`messages.fetch` and agree, byte for byte, with what `plan` compiles from them. Layouts:
FetchRequest.json, FetchResponse.json.

Invariants: malformed bytes raise ProtocolError and nothing else, before anything is allocated for
a count that the bytes cannot hold; bytes after the body are ignored; unknown tagged fields are
kept in every struct, both ways, and as in Kafka's own readers the size of a known one is not
compared with what it takes, one that its version does not have yet is malformed, and text that is
no UTF-8 is read with U+FFFD in it; large record chunks are passed on, never copied; a value that
the version cannot carry is left out.
"""

from __future__ import annotations

from mockbroker_protocol.fetch_codec_request import decode_fetch_request, encode_fetch_request
from mockbroker_protocol.fetch_codec_response import decode_fetch_response, encode_fetch_response

__all__ = (
    "decode_fetch_request",
    "decode_fetch_response",
    "encode_fetch_request",
    "encode_fetch_response",
)
