"""What clients in Python are given that ask for tokens of OAUTHBEARER; each has a class of its own.

`client_config` makes them, for which the client has to be there.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from json import loads
from typing import TYPE_CHECKING, Any

from mockbroker.testing.kept_files import kept_folder

__tracebackhide__ = True

if TYPE_CHECKING:
    from collections.abc import Callable

    Token = str | Callable[[], str]


def made(token: Token) -> str:
    """The token to show now."""
    return token if isinstance(token, str) else token()


def claims_of(token: str) -> dict[str, Any]:
    """What a token says, whoever signed it."""
    part = token.split(".")[1]
    claims: dict[str, Any] = loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


def is_unsecured(token: str) -> bool:
    """Whether nobody signed it."""
    return token.endswith(".")


def for_confluent(token: Token) -> Callable[[object], tuple[str, float]]:
    """`oauth_cb`: a token, and when it expires in seconds since 1970."""

    def give(_config: object) -> tuple[str, float]:
        shown = made(token)
        return shown, float(claims_of(shown)["exp"])

    return give


def for_aiokafka(token: Token) -> object:
    """`sasl_oauth_token_provider`."""
    from aiokafka.abc import AbstractTokenProvider

    class Provider(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no types
        async def token(self) -> str:
            return made(token)

    return Provider()


def for_kafka_python(token: Token) -> object:
    """The same of kafka-python, which has moved its class twice."""
    try:
        from kafka.net.sasl.oauth import AbstractTokenProvider
    except ImportError:
        try:
            from kafka.sasl.oauth import AbstractTokenProvider
        except ImportError:
            from kafka.oauth import AbstractTokenProvider

    class Provider(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
        def token(self) -> str:
            return made(token)

    return Provider()


def in_file(token: Token) -> str:
    """The file that has it, for as long as this process lasts."""
    file = kept_folder("mockbroker-token-") / "token.jwt"
    file.touch(0o600)
    file.write_text(made(token), "ascii")
    return str(file)
