"""Drawn tokens are what they say; the keys of a provider come and go."""

from __future__ import annotations

import json
from random import Random

import pytest

from simulation.cluster.bearer_tokens import (
    SIGNED_INVALID,
    SIGNED_VALID,
    UNSECURED_CLAIMS,
    VALID_CLAIMS,
    Keys,
    signed,
    signing_keys,
    unsecured,
)

pytestmark = pytest.mark.sim

NOW_MS = 1_700_000_000_000


def test_every_form_is_drawn() -> None:
    rng, keys = Random(1), Keys()
    drawn = {unsecured(rng, NOW_MS).what for _ in range(800)}
    assert drawn >= {*UNSECURED_CLAIMS, *VALID_CLAIMS}
    drawn = {signed(rng, NOW_MS, keys).what for _ in range(800)}
    assert drawn >= {*SIGNED_INVALID, *SIGNED_VALID}


def test_a_key_that_is_gone_is_missed() -> None:
    rng, keys = Random(1), Keys()
    keys.there = ["rsa"]
    assert {
        key["kid"] for key in json.loads(keys.text() or "")["keys"] if key != 7 and "n" in key
    } == {"rsa"}
    found = [signed(rng, NOW_MS, keys) for _ in range(100)]
    assert any(one.misses_key for one in found)
    assert all(one.what in SIGNED_VALID for one in found if one.principal)


def test_keys_that_cannot_be_read_are_none() -> None:
    rng, keys = Random(1), Keys()
    keys.is_readable = False
    assert keys.text() is None
    assert not any(signed(rng, NOW_MS, keys).misses_key for _ in range(100))
    there = set()
    for _ in range(30):
        keys.change(rng)
        there.add(len(keys.there))
    assert there >= {3, 4, len(signing_keys())}
