"""Nobody gets in who has not logged in, whatever he sends, in whatever order: see `intruder`.

Random sequences of frames over all APIs before, amid and behind logins that fail or are not ended,
on several connections at once: nothing but ApiVersions and the APIs of the login is answered, but
for error 34 in place of a token; nothing is stored, and nothing of others leaves. Nor can strangers
be told from users, by what they are told or by the work that it takes.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.config.logins import SERVED_MECHANISMS
from mockbroker_protocol.messages.sasl import SaslAuthenticateRequest
from simulation.scram_client import ScramClient
from tests.support.core import Core
from tests.support.intruder import Intruder
from tests.support.intruder_world import CONFIG
from tests.support.logins import DELAY_MS, LISTENER, handshake, login_core, token, try_to_get_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from tests.support.core import CoreClient

STEPS = 3000
SCRAM_USERS = (
    'org.apache.kafka.common.security.scram.ScramLoginModule required user_alice="alice-secret";'
)
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("knows_bob", [True, False], ids=["bob", "nobody"])
def test_nobody_gets_in_without_a_login(seed: int, knows_bob: bool) -> None:
    intruder = Intruder(Random(seed), knows_bob=knows_bob)
    for _ in range(STEPS):
        intruder.step()
    intruder.check()
    assert intruder.failed > 300
    assert (intruder.entered > 100) is knows_bob
    served = set(Core().broker.registry.advertised())
    assert len(served - intruder.keys_sent) < 4


# -- who exists is not told --------------------------------------------------------------------


def scram(name: str, extensions: str = "") -> bytes:
    return ScramClient("SCRAM-SHA-256", name, "x").first("", extensions)


@pytest.mark.parametrize(
    ("mechanism", "user", "stranger"),
    [
        ("PLAIN", b"\0alice\0wrong", b"\0nobod\0wrong"),
        ("PLAIN", b"\0alice\0", b"\0nobod\0"),
        ("PLAIN", b"bob\0alice\0wrong", b"bob\0nobod\0wrong"),
        ("SCRAM-SHA-256", scram("alice", ",tokenauth=true"), scram("nobod", ",tokenauth=true")),
    ],
    ids=["password", "none", "other id", "token"],
)
def test_a_stranger_is_told_what_a_user_is_told_by_the_same_work(
    mechanism: str, user: bytes, stranger: bytes
) -> None:
    told_and_done(mechanism, user)  # what is imported and compiled at first use is no difference
    found = [told_and_done(mechanism, data) for data in (user, stranger)]
    assert found[0] == found[1]


def told_and_done(mechanism: str, data: bytes) -> tuple[bytes, Counter[str]]:
    """The answer to a token, and which functions were called for it, how often."""
    client: CoreClient = login_core(CONFIG).client(listener=LISTENER)
    handshake(client, mechanism)
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            calls[frame.f_code.co_qualname] += 1
        elif event == "c_call":
            calls[str(getattr(argument, "__qualname__", argument))] += 1

    sys.setprofile(count)
    try:
        client.send(SaslAuthenticateRequest(data), 2)
        client.core.advance(DELAY_MS)
    finally:
        sys.setprofile(None)
    return bytes(client.receive_bytes()), calls


def test_scram_tells_of_a_wrong_password_what_it_tells_of_a_stranger() -> None:
    told = []
    for name in ("alice", "nobody"):
        client = login_core({**CONFIG, "scram-sha-256.sasl.jaas.config": SCRAM_USERS}).client(
            listener=LISTENER
        )
        handshake(client, "SCRAM-SHA-256")
        exchange = ScramClient("SCRAM-SHA-256", name, "wrong")
        answer = token(client, exchange.first())
        if not answer.error_code:
            answer = token(client, exchange.last(answer.auth_bytes))
        told.append(answer)
    assert told[0] == told[1]
    assert told[0].error_code


# -- comparisons -------------------------------------------------------------------------------

SECRET = re.compile(
    r"password|secret|hmac|stored_key|server_key|signature|proof|digest|admin_token|bearer"
)
COMPARING = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)


def test_secrets_are_compared_in_constant_time() -> None:
    """By hmac.compare_digest alone: an operator ends at the first byte that differs."""
    compared = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted((ROOT / "mockbroker").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Compare) and is_of_secrets(node)
    ]
    assert compared == []


def is_of_secrets(node: ast.Compare) -> bool:
    """Whether values are compared, one of which is named as a secret is."""
    if not any(isinstance(operator, COMPARING) for operator in node.ops):
        return False
    return any(
        SECRET.search(name) is not None
        for one in (node.left, *node.comparators)
        for name in names_in(one)
    )


def names_in(value: ast.expr) -> Iterator[str]:
    """What a value is called: a name, an attribute, or what is called, subscripted or converted."""
    if isinstance(value, ast.Name):
        yield value.id
    elif isinstance(value, ast.Attribute):
        yield value.attr
        if isinstance(value.value, ast.Call):
            yield from names_in(value.value)
    elif isinstance(value, ast.Subscript):
        yield from names_in(value.value)
    elif isinstance(value, ast.Call):
        called = list(names_in(value.func))
        yield from called
        if called[:1] not in (["len"], ["type"], ["isinstance"]):
            for argument in value.args:
                yield from names_in(argument)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a.hmac == hmac", True),
        ("password != other", True),
        ("len(proof) != len(signature)", False),
        ("token.hmac is None", False),
        ("credential.stored_key in known", True),
        ("digest(key, data) == shown", True),
        ("hmac_digest(key, data, 'sha256') != shown", True),
        ("new_hash(name, data).digest() == known", True),
        ("b64encode(token.hmac) == shown", True),
        ("shown == sign(data, secret).hex()", True),
        ("signature[:4] == shown", True),
        ("name_of(text) == other", False),
        ("listener_text(config, name) == SIGNED", False),
    ],
)
def test_what_counts_as_a_comparison_of_secrets(line: str, found: bool) -> None:
    node = ast.parse(line, mode="eval").body
    assert isinstance(node, ast.Compare)
    assert is_of_secrets(node) is found


@pytest.mark.parametrize("mechanism", SERVED_MECHANISMS)
def test_nobody_gets_in_by_tokens_that_are_nearly_right(mechanism: str) -> None:
    try_to_get_in(mechanism, 1000)
