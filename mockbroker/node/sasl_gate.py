"""Stands before the requests of a connection whose client has to log in, until it has.

`broker` puts one before each connection of a SASL listener, and `request_handler` asks it of each
frame. ApiVersions, SaslHandshake and SaslAuthenticate go on to their handlers while they are in
order; tokens without a request around them, and all that is out of order, are dealt with here as
Kafka does (SaslServerAuthenticator, Processor.processCompletedReceives). Once the client is known
for good the gate is gone; where sessions end, it stays.

A login that fails is told after `connection.failed.authentication.delay.ms`, and the connection
ends; nothing of it is worked on meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.apis.context import PARKED, RequestContext, Verdict
from mockbroker.journal import Login
from mockbroker.node.illegal_sasl_state import illegal_sasl_state, unexpected_request
from mockbroker.node.refusals import unserved_reason
from mockbroker.security.admission import ClientLogin
from mockbroker.security.authenticator import State, session_expired
from mockbroker.security.mechanism import SaslAuthenticationError, SaslError, reason_of
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.headers import decode_request_header, peek_request_header

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.journal import Journal
    from mockbroker.node.connection import Connection
    from mockbroker.node.outbox import Outbox
    from mockbroker.node.request_handler import RequestHandler
    from mockbroker.security.admission import Admission
    from mockbroker.security.authenticator import Authenticator
    from mockbroker_protocol.frames import Frame

_DELAY: Final = "connection.failed.authentication.delay.ms"
_AWAITED: Final = {
    State.INITIAL: (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE),
    State.HANDSHAKE: (ApiKey.SASL_HANDSHAKE,),
    State.TOKENS: (ApiKey.SASL_AUTHENTICATE,),
    State.OTHER_MECHANISM: (),
}
"""The APIs that are served while the client is not known, or proves anew who it is."""


class SaslGate:
    """The gate of one connection; it is in `services.logins` as long as that is open."""

    __slots__ = ("_conn", "_handler", "_journal", "_max_frame_bytes", "_outbox", "authenticator")

    def __init__(
        self,
        handler: RequestHandler,
        conn: Connection,
        authenticator: Authenticator,
        journal: Journal,
        outbox: Outbox,
    ) -> None:
        self._handler = handler
        self._journal = journal
        self._outbox = outbox
        self._conn = conn
        self.authenticator = authenticator
        frames = conn.frames
        self._max_frame_bytes = most = frames.max_frame_bytes
        frames.max_frame_bytes = min(authenticator.max_token_bytes, most)
        conn.gate = self.admits

    @property
    def _admission(self) -> Admission:
        return self._handler.services.admission

    def admits(self, frame: Frame) -> bool:
        """Whether a frame is a request that is served now."""
        authenticator = self.authenticator
        header = peek_request_header(frame)
        key = None if header is None else header.api_key
        if authenticator.state is State.COMPLETE:
            return self._is_in_session(key)
        if authenticator.state is State.OTHER_MECHANISM:
            reason = (
                f"SASL mechanism '{authenticator.wanted}' requested by client is not supported for "
                f"re-authentication of mechanism '{authenticator.mechanism}'"
            )
            self._tell(reason)
            self._end_later(reason)
            return False
        if authenticator.state is State.TOKENS and authenticator.bare_tokens:
            self._take_token(bytes(frame))
            return False
        if key in _AWAITED[authenticator.state]:
            return True
        if authenticator.state is State.TOKENS:
            self._refuse_request(frame)
        else:
            self._handler.refuse(self._conn, header, "the client has yet to authenticate")
        return False

    # -- what the handlers tell --------------------------------------------------------------

    def authenticate(self, token: bytes) -> tuple[bytes, int]:
        """The answer to a token, and the life of the session in ms. Raises SaslError."""
        clock = self._handler.services.clock
        authenticator = self.authenticator
        refused_by = None if self._admission.rules is None else self._refused_by
        found = authenticator.evaluate(token, clock.now_ms, clock.wall_ms(), refused_by)
        if authenticator.state is State.COMPLETE:
            conn = self._conn
            assert authenticator.principal is not None
            conn.principal = authenticator.principal
            conn.frames.max_frame_bytes = self._max_frame_bytes
            if authenticator.expires_ms is None:
                conn.gate = None
            self._tell(None)
        return found

    def fail(self, ctx: RequestContext, response: object, reason: str) -> Verdict:
        """Answer what ends the connection, after the delay. Returns what a handler returns then."""
        self._tell(reason)
        self._end_later(reason, lambda: ctx.respond(response))
        return PARKED

    def cut(self, reason: str) -> Verdict:
        """End the connection without an answer. Returns what a handler returns then."""
        self._tell(reason)
        self._handler.services.defer(lambda: self._handler.close(self._conn, reason))
        return PARKED

    def refuse_later(self, reason: str) -> bool:
        """Whether bytes that are no frame are refused after the delay, as a failed login."""
        conn = self._conn
        if self.authenticator.state is State.COMPLETE:
            return False
        if conn.muted is None:
            self._tell(reason)
            self._after_delay(lambda: self._handler.refuse(conn, None, reason))
        return True

    def _refused_by(self, principal: str) -> str | None:
        """The id of the fault rule that a login sets off which would else succeed."""
        conn = self._conn
        login = ClientLogin(
            conn.id, conn.client_id, principal, conn.listener, self._handler.broker_id
        )
        return self._admission.refused_by(login)

    # -- the rest ----------------------------------------------------------------------------

    def _is_in_session(self, key: int | None) -> bool:
        now_ms = self._handler.services.clock.now_ms
        if key == ApiKey.SASL_HANDSHAKE and self.authenticator.begin_renewal(now_ms):
            return True
        rule = self._expired_by()
        if rule is not None or self.authenticator.is_expired(now_ms):
            self._handler.close(self._conn, session_expired(rule))
            return False
        return True

    def _expired_by(self) -> str | None:
        """The id of the fault rule that made the token of the session expire."""
        token = self.authenticator.token
        return None if token is None else self._admission.spent_by(token)

    def _take_token(self, token: bytes) -> None:
        try:
            answer, _ = self.authenticate(token)
        except SaslError as error:
            self._tell(reason_of(error))
            if isinstance(error, SaslAuthenticationError):
                self._end_later(str(error))
            else:
                self._handler.close(self._conn, str(error))
        else:
            self._conn.send([len(answer).to_bytes(4, "big") + answer], 4 + len(answer))
            self._outbox.touch(self._conn)

    def _refuse_request(self, frame: Frame) -> None:
        """Another request where a token should come: its answer is error 34, if it can be read."""
        handler, conn = self._handler, self._conn
        try:
            header = decode_request_header(frame)
            api = conn.registry.get(header.api_key)
            if api is None or len(frame) > api.large_bytes:
                raise ProtocolError("the client has yet to authenticate")
            if not api.min_version <= header.api_version <= api.max_version:
                raise ProtocolError(unserved_reason(api))
            request = api.decode(frame, header.body_pos, header.api_version)
        except ProtocolError as error:
            handler.refuse(conn, peek_request_header(frame), str(error))
            return
        now_ms = handler.services.clock.now_ms
        unexpected = unexpected_request(api.key)
        if getattr(request, "acks", None) == 0:  # a Produce that has no answer
            handler.refuse(conn, header, unexpected)
            return
        conn.requests += 1
        api.requests += 1
        api.request_bytes += len(frame)
        ctx = RequestContext(handler, header, conn, now_ms, len(frame), frame)
        conn.in_work = ctx
        response = illegal_sasl_state(api.key, header.api_version, request)
        self.fail(ctx, response, unexpected)

    def _end_later(self, reason: str, answer: Callable[[], None] | None = None) -> None:
        """End the connection after the delay; nothing of it is worked on meanwhile."""

        def end() -> None:
            if answer is not None:
                answer()
            self._handler.close(self._conn, reason)

        self._after_delay(end)

    def _after_delay(self, end: Callable[[], None]) -> None:
        services = self._handler.services
        until_ms = services.clock.now_ms + services.config.int(_DELAY)
        self._conn.mute(services.timer, until_ms, end)

    def _tell(self, reason: str | None) -> None:
        """Tell how a login ended; `reason` None: well."""
        conn, authenticator = self._conn, self.authenticator
        self._admission.count(
            conn.listener,
            authenticator.mechanism,
            failed=reason is not None,
            renewed=authenticator.renews,
        )
        self._journal.record(
            Login(
                conn.id,
                conn.peer,
                conn.client_id,
                authenticator.mechanism,
                authenticator.principal,
                authenticator.renews,
                reason,
                self._handler.broker_id,
            )
        )
