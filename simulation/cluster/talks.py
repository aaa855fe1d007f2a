"""A connection of somebody who may have to log in: past the network, between two events.

Who is served is told by whether an answer comes: a login that fails is told later, and ends the
connection. Those who log in (`logins`) ask by it, and tell what is wrong.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar, cast

from mockbroker_protocol.headers import decode_response_header
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker_protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from mockbroker_protocol.plan import decode
from simulation.clients import frame_of
from simulation.stage import PROBE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.node.broker import Broker
    from simulation.world import World

T = TypeVar("T")
METADATA_VERSION: Final = 5
NAME: Final = "logins"


class Talk:
    """One connection; `say` gives the frames that come back at once."""

    def __init__(self, world: World, broker: Broker, say: Callable[[bytes], list[bytes]]) -> None:
        self._world = world
        self.broker = broker
        self.say = say
        self._number = 0

    def ask(self, request: object, version: int, kind: type[T]) -> T | None:
        """The answer; None: there is none at once."""
        self._number += 1
        answers = self.say(frame_of(request, version, self._number, NAME))
        if not answers:
            return None
        key = cast("int", request.API_KEY)  # type: ignore[attr-defined]
        _, pos = decode_response_header(answers[0], key, version)
        return decode(kind, version, answers[0], pos)[0]

    def choose(self, mechanism: str, version: int = 1) -> SaslHandshakeResponse | None:
        """Begin a login."""
        return self.ask(SaslHandshakeRequest(mechanism), version, SaslHandshakeResponse)

    def token(self, data: bytes) -> SaslAuthenticateResponse | None:
        """Send a token of the mechanism."""
        return self.ask(SaslAuthenticateRequest(data), 2, SaslAuthenticateResponse)

    def bare_token(self, data: bytes) -> bytes | None:
        """The same without a request around it; None: there is no answer."""
        answers = self.say(len(data).to_bytes(4, "big") + data)
        return answers[0] if answers else None

    def is_served(self) -> bool:
        """Whether a request is answered that needs a login."""
        return self.ask(MetadataRequest(None), METADATA_VERSION, MetadataResponse) is not None

    @property
    def principal(self) -> str:
        """Who it is to the broker."""
        connection = self.broker.connection(PROBE)
        return "" if connection is None else connection.principal


@contextmanager
def talk(world: World, broker: Broker, listener: str) -> Iterator[Talk]:
    """Connect to a listener of a broker."""
    with world.conversation(broker, listener=listener) as say:
        yield Talk(world, broker, say)
