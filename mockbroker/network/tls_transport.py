"""A connection that is encrypted: as `transport`, with TLS between the socket and the core.

`socket_server` makes one for each socket that a listener with TLS accepts. The library has no
socket: bytes go through two buffers in memory, so that limits on what is read, written and held
are the same as without TLS, with any event loop. The core knows of a connection once its handshake
is done; until then it counts as one that is open (Kafka: SslTransportLayer, ConnectionQuotas).

Invariants: while something waits to be encrypted the client does not read (`paused`); a client that
is not read has at most CIPHERTEXT_BYTES here that are not decrypted.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol, cast

from mockbroker.network.cipher_suites import registered_name
from mockbroker.network.transport import JOIN_LIMIT_BYTES, ClientTransport
from mockbroker.node.tls_session import ANONYMOUS, TlsSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.faults.armed_fault import ArmedFault
    from mockbroker.network.transport import Connections
    from mockbroker.node.outbox import Outgoing
    from mockbroker_protocol.primitives import Buffer

CIPHERTEXT_BYTES: Final = 1 << 18
"""Read from a socket at once."""
ENCRYPT_BYTES: Final = 1 << 18
"""Encrypted at once, of a large answer; the rest waits until the client has read."""
RECORD_BYTES: Final = 1 << 14
"""The most that TLS has in one record: what is larger is encrypted where it is."""
QUICK_ACK: Final[int] = getattr(socket, "TCP_QUICKACK", -1)
"""Linux alone has it; below 0 elsewhere."""
HANDSHAKE_SECONDS: Final = 10.0
"""How long a handshake may take, in real time."""


class UnknownPrincipalError(Exception):
    """A certificate is right, and names nobody: the text says why."""


class TlsListener(Protocol):
    """The certificates of a listener as they are now, asked at each connection."""

    read_area: memoryview
    """CIPHERTEXT_BYTES that all connections of the listener are read through."""

    def wrap(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, shown: str | None = None
    ) -> ssl.SSLObject:
        """The server's end of a new connection; `shown`: with another certificate, by its kind."""

    def principal(self, connection: ssl.SSLObject) -> str | None:
        """Who the client is whose handshake is done; None without a certificate that tells.

        Raises UnknownPrincipalError.
        """


class TlsTransport(ClientTransport):
    """The shell's side of one connection with TLS."""

    __slots__ = (
        "_area",
        "_begun",
        "_connection",
        "_ending",
        "_fault",
        "_has_ended",
        "_incoming",
        "_outgoing",
        "_pending",
        "_pending_bytes",
        "_timer",
        "_tls",
    )

    def __init__(
        self, server: Connections, connection_id: int, listener: str, tls: TlsListener
    ) -> None:
        super().__init__(server, connection_id, listener)
        self._tls = tls
        self._area = tls.read_area
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._connection = tls.wrap(self._incoming, self._outgoing)
        self._begun = False
        self._fault: ArmedFault | None = None
        """The rule that the handshake set off."""
        self._has_ended = False
        """Whether the client has said that it sends no more."""
        self._timer: asyncio.TimerHandle | None = None
        self._pending: deque[Buffer] = deque()
        self._pending_bytes = 0
        self._ending: str | None = None
        """How the connection ends when nothing is pending any more; None: it does not."""

    # -- the handshake ---------------------------------------------------------------------

    def admitted(self) -> None:
        """There is room for it: its client may begin the handshake."""
        self._timer = asyncio.get_running_loop().call_later(HANDSHAKE_SECONDS, self._too_slow)

    def _too_slow(self) -> None:
        self._fail(f"it was not done in {HANDSHAKE_SECONDS:g} s")

    def _handshake(self) -> None:
        if not self._begun:
            self._begun = True
            self._heed_rules()
        if self._timer is None:  # it has failed before
            return
        try:
            self._connection.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return
        except ssl.SSLError as error:
            self._flush()  # an alert tells the client why
            self._fail(reason_of(error))
            return
        self._stop_timer()
        self._flush()
        self._acknowledge()
        try:
            session = session_of(self._connection, self._tls)
        except UnknownPrincipalError as error:
            self._fail(str(error))
            return
        if self._fault is not None:
            session.fault = self._fault.id
        self.session = session
        self._server.connected(self)

    def _heed_rules(self) -> None:
        """Have the handshake, which begins now, set off a fault rule."""
        node = self._server.node
        if node.handshake_faults is None:
            return
        rule = node.handshake_faults.meet_handshake(self.listener, node.node_id)
        if rule is None:
            return
        if rule.fault.break_handshake:
            self._fail(f"broken off by {rule.id}")
        else:
            self._fault = rule
            shown = rule.fault.certificate
            self._connection = self._tls.wrap(self._incoming, self._outgoing, shown)

    def _acknowledge(self) -> None:
        """The client's last message has no answer, and a request may wait until it has arrived.

        Who has not switched Nagle's algorithm off sends the request when the system acknowledges
        the message, 40 ms later unless it is told to at once.
        """
        assert self._transport is not None
        sock = self._transport.get_extra_info("socket")
        if sock is not None and QUICK_ACK >= 0:
            sock.setsockopt(socket.IPPROTO_TCP, QUICK_ACK, 1)

    def _fail(self, reason: str) -> None:
        self._stop_timer()
        if self._transport is not None:
            self._refused(reason)
            self._transport.close()

    def _refused(self, reason: str) -> None:
        """Tell that the handshake failed."""
        rule = self._fault
        if rule is not None:
            reason += f" (a certificate that is {rule.fault.certificate} was shown by {rule.id})"
        self._server.broker.handshake_failed(self.listener)
        self._server.refused(self, f"TLS handshake: {reason}")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        if self._timer is not None:
            self._stop_timer()
            if self._begun:  # who only looks whether the port is open made no mistake
                self._refused("the client has hung up")
        self._pending.clear()
        self._pending_bytes = 0
        super().connection_lost(exc)

    # -- reading ---------------------------------------------------------------------------

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 -- asyncio's signature
        """Where asyncio reads into."""
        return self._area

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes were read."""
        self._incoming.write(self._area[:nbytes])
        if self.session is None:
            self._handshake()
        if self.session is not None:
            self._read()

    def _read(self) -> None:
        """Give the core what is here, unless it wants no more."""
        transport = self._transport
        if transport is None or self.session is None or self._has_ended:
            return
        server = self._server
        more = True
        while more and self._reading and not transport.is_closing():
            buffer = server.broker.receive_buffer(self.id, -1)
            filled, more = self._decrypt(buffer)
            if filled:
                server.received(self.id, filled)
        if self._outgoing.pending:  # an alert, or new keys
            self._flush()
        self._heed_goodbye()

    def _heed_goodbye(self) -> None:
        if self._has_ended and not self._server.broker.ended(self.id):
            self.close()

    def eof_received(self) -> bool:
        """The client sends no more, and mostly has said so; True: as `ClientTransport`."""
        return self._has_ended or super().eof_received()

    def _decrypt(self, buffer: memoryview) -> tuple[int, bool]:
        """Fill a buffer: how far it came, and whether there may be more."""
        filled, size = 0, len(buffer)
        connection, incoming = self._connection, self._incoming
        # With a buffer it returns how much is there, and not the bytes.
        read = cast("Callable[[int, memoryview], int]", connection.read)
        try:
            while filled < size:
                count = read(size - filled, buffer[filled:])
                if not count:
                    self._has_ended = True
                    return filled, False
                filled += count
                # To be told that there is no more by an exception costs as much as to decrypt;
                # behind a whole record there mostly is.
                if count < RECORD_BYTES and not incoming.pending and not connection.pending():
                    return filled, False
        except ssl.SSLWantReadError:
            return filled, False
        except ssl.SSLError:  # not what was encrypted: nothing that follows can be read
            assert self._transport is not None
            self._flush()
            self._transport.abort()
            return filled, False
        return filled, True

    def _set_reading(self, transport: asyncio.Transport, wanted: bool) -> None:
        super()._set_reading(transport, wanted)
        if wanted:
            asyncio.get_running_loop().call_soon(self._read)

    # -- writing ---------------------------------------------------------------------------

    @property
    def unread_bytes(self) -> int:
        """What waits for the client to read."""
        return super().unread_bytes + self._pending_bytes

    def write(self, outgoing: Outgoing) -> None:
        """Do what the core wants done."""
        transport = self._transport
        if transport is None or transport.is_closing():  # nothing is said behind a goodbye
            return
        chunks = outgoing.chunks
        if self.paused or outgoing.size_bytes > JOIN_LIMIT_BYTES:
            self._pending += chunks
            self._pending_bytes += outgoing.size_bytes
            self._pump(transport)
        elif chunks:
            self._encrypt(chunks[0] if len(chunks) == 1 else b"".join(chunks), transport)
        if outgoing.close:
            self._end(transport, outgoing.ending)
        elif outgoing.read is not self._reading:
            self._set_reading(transport, outgoing.read)

    def _pump(self, transport: asyncio.Transport) -> None:
        """Encrypt what is pending, until the client reads no further."""
        while self._pending and not self.paused and not transport.is_closing():
            piece = self._next_piece()
            self._pending_bytes -= len(piece)
            self._encrypt(piece, transport)

    def _next_piece(self) -> Buffer:
        """Of what is pending, small parts joined, and of a large one a piece, uncopied."""
        pending = self._pending
        part = pending.popleft()
        size = len(part)
        if size > ENCRYPT_BYTES:
            view = memoryview(part)
            pending.appendleft(view[ENCRYPT_BYTES:])
            return view[:ENCRYPT_BYTES]
        if size > RECORD_BYTES:
            return part
        parts = [part]
        while pending and len(pending[0]) <= min(RECORD_BYTES, ENCRYPT_BYTES - size):
            parts.append(pending.popleft())
            size += len(parts[-1])
        return part if len(parts) == 1 else b"".join(parts)

    def _encrypt(self, data: Buffer, transport: asyncio.Transport) -> None:
        write = self._connection.write
        written = write(data)
        while written < len(data):
            written += write(memoryview(data)[written:])
        transport.write(self._outgoing.read())

    def _flush(self) -> None:
        """Send what the library itself has to say."""
        if self._transport is not None and self._outgoing.pending:
            self._transport.write(self._outgoing.read())

    def resume_writing(self) -> None:
        """The client reads again: what is pending goes first."""
        self.paused = False
        if self._transport is not None:
            self._pump(self._transport)
            if self._ending is not None and not self._pending:
                self._end(self._transport, self._ending)
        if not self.paused:
            self._server.blocked(self.id, False)

    # -- the end ---------------------------------------------------------------------------

    def _end(self, transport: asyncio.Transport, ending: str | None) -> None:
        if self._pending and ending != "reset":
            self._ending = ending or "close"
            return
        self._stop_timer()
        self._ending = None
        if ending not in ("reset", "half_close"):
            self._say_goodbye()
        super()._end(transport, ending)

    def _say_goodbye(self) -> None:
        """Without it a client cannot tell the end from an attack that cuts the connection."""
        if self.session is None:
            return
        try:
            self._connection.unwrap()
        except ssl.SSLError:
            pass  # it wants the client's own, which nobody waits for
        self._flush()

    def close(self) -> None:
        """Close once everything written has been sent."""
        if self._transport is not None:
            self._end(self._transport, None)

    def abort(self) -> None:
        """Close now and drop what was not sent."""
        self._stop_timer()
        super().abort()


def session_of(connection: ssl.SSLObject, tls: TlsListener) -> TlsSession:
    """What a handshake came to that is done."""
    cipher, version = connection.cipher(), connection.version()
    assert cipher is not None
    assert version is not None
    return TlsSession(version, registered_name(cipher[0]), tls.principal(connection) or ANONYMOUS)


def reason_of(error: ssl.SSLError) -> str:
    """Why a handshake failed, in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is refused, {error.verify_message}"
    reason = error.reason or str(error)
    found = _REASONS.get(reason)
    if found is None and reason.startswith(("TLSV1_ALERT_", "SSLV3_ALERT_", "TLSV13_ALERT_")):
        found = f"the client says {reason.partition('_ALERT_')[2].replace('_', ' ').lower()}"
    return found or reason.replace("_", " ").lower()


_REASONS: Final = {
    "WRONG_VERSION_NUMBER": "the client does not speak TLS",
    "HTTP_REQUEST": "the client speaks HTTP",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client showed no certificate",
    "NO_SHARED_CIPHER": "the client has no cipher suite of this listener",
    "UNSUPPORTED_PROTOCOL": "the client has no TLS version of this listener",
}
