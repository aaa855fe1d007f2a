"""What a fetch asks of the extension, as read from its bytes."""

from __future__ import annotations

from mockbroker.coop import tags
from mockbroker.coop.errors import Refusal
from mockbroker.coop.fetch_wants import named, wants_of
from mockbroker.coop.key_filter import KeyFilter
from mockbroker.coop.numbers import Tag
from mockbroker.coop.tags import Identity
from mockbroker.fetch.contexts import SessionlessFetchContext
from mockbroker_protocol.errors import ErrorCode
from tests.mockbroker.coop.test_fetch import HALF, asking
from tests.support.core import Core

ME = Identity("g", "m1", 3, None)


def test_filters_and_who_asks() -> None:
    core = Core(topics={"t": 1})
    own: dict[int, bytes] = {Tag.GROUP_IDENTITY: tags.write_identity(ME)}
    request = asking(("t", 0, HALF), ("u", 0, None), ("v", 0, {Tag.KEYS: b""}), own_tags=own)
    context = core.broker.services.fetch.new_context(request, 12)
    assert isinstance(context, SessionlessFetchContext)
    wants = wants_of(request, context)
    assert wants.identity == ME
    assert set(wants.filters) == {("t", 0), ("v", 0)}
    assert isinstance(wants.filters["t", 0], KeyFilter)
    assert wants.filters["v", 0] == Refusal(ErrorCode.INVALID_REQUEST)


def test_topics_go_by_what_the_request_has() -> None:
    assert named("t", bytes(16)) == "t"
    assert named("", b"i" * 16) == b"i" * 16
