"""That the extension's numbers are nobody else's."""

from __future__ import annotations

import re
from pathlib import Path

import mockbroker_protocol.messages
from mockbroker.coop.numbers import FIRST_TAG, LAST_TAG, STAGES, DraftError, Tag
from mockbroker_protocol.primitives import write_uvarint


def test_kafka_has_none_of_the_tags() -> None:
    (folder,) = mockbroker_protocol.messages.__path__
    known = {
        int(tag)
        for module in Path(folder).glob("*.py")
        for tag in re.findall(r"\btag=(\d+)", module.read_text("utf-8"))
    }
    assert {0, 1, 2} <= known
    assert max(known) < FIRST_TAG


def test_a_tag_takes_two_bytes() -> None:
    assert {len(write_uvarint(tag)) for tag in (FIRST_TAG, LAST_TAG, *Tag)} == {2}
    assert all(FIRST_TAG <= tag <= LAST_TAG for tag in Tag)


def test_what_is_said_is_what_is_there() -> None:
    assert STAGES == 1 | 2 | 4 | 8 | 16
    assert {error.value for error in DraftError} <= set(range(88, 93))
