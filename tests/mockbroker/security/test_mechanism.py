"""Each mechanism is one: whatever comes, it believes nobody and fails in the one way."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.clock import Clock
from mockbroker.config.broker import BrokerConfig
from mockbroker.config.logins import SERVED_MECHANISMS
from mockbroker.metadata.store import MetadataStore
from mockbroker.security.mechanism import SaslError
from mockbroker.security.mechanisms import Mechanisms
from tests.support.logins import ALICE, CONFIG, LISTENER

TOKENS = (ALICE, b"n,,n=alice,r=abc", b"n,,\x01auth=Bearer e30.e30.\x01\x01", b"")


def mangled(dice: Random) -> bytes:
    token = bytearray(dice.choice(TOKENS))
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(token) + 1)
        token[at : at + dice.randint(0, 2)] = dice.randbytes(dice.randint(0, 2))
    return bytes(token)


@pytest.mark.parametrize("name", SERVED_MECHANISMS)
def test_nobody_gets_in_by_chance(name: str) -> None:
    dice = Random(7)
    config = BrokerConfig(CONFIG)
    mechanisms = Mechanisms(config, MetadataStore("c", config), dice, Clock())
    for _ in range(1000):
        exchange = mechanisms.make(name, LISTENER)
        token = mangled(dice)
        if token in TOKENS:
            continue
        try:
            exchange.evaluate(token)
        except SaslError:
            pass
        assert not exchange.complete
