"""Who may ask for delegation tokens (Kafka: KafkaApis.allowTokenRequests)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.listeners import security_protocol
from mockbroker.config.security_protocol import SecurityProtocol

if TYPE_CHECKING:
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.security.authenticator import Authenticator

ANONYMOUS: Final = "User:ANONYMOUS"


def may_ask_for_tokens(
    config: BrokerConfig, listener: str, principal: str, login: Authenticator | None
) -> bool:
    """Not without a login of one's own: not over PLAINTEXT, nor with a token."""
    protocol = security_protocol(config, listener)
    if protocol is SecurityProtocol.PLAINTEXT or (login is not None and login.by_token):
        return False
    return protocol is not SecurityProtocol.SSL or principal != ANONYMOUS


def principal_of(kind: str, name: str) -> str:
    """As the metadata name it."""
    return f"{kind}:{name}"


def parts_of(principal: str) -> tuple[str, str]:
    """Type and name."""
    kind, _, name = principal.partition(":")
    return kind, name
