"""SaslAuthenticate: a token of the mechanism that the handshake chose (KIP-152, KIP-368).

Error 58 tells what its client may know of a failure, and the connection ends; error 34: nobody is
to log in here, or somebody has.

Versions: v1 tells how long the session lasts; v2 is flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.security.authenticator import State
from mockbroker.security.mechanism import SaslBreakOffError, SaslError, reason_of
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.sasl import SaslAuthenticateResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.sasl import SaslAuthenticateRequest

guard = None  # anybody may try


def handle(services: Services, ctx: RequestContext, request: SaslAuthenticateRequest) -> object:
    login = services.logins.get(ctx.connection_id)
    if login is None or login.authenticator.state is State.COMPLETE:
        return SaslAuthenticateResponse(
            ErrorCode.ILLEGAL_SASL_STATE,
            "SaslAuthenticate request received after successful authentication",
        )
    try:
        answer, lifetime_ms = login.authenticate(request.auth_bytes)
    except SaslBreakOffError as error:
        return login.cut(str(error))
    except SaslError as error:
        failed = ErrorCode.SASL_AUTHENTICATION_FAILED
        told = login.authenticator.told(error)
        return login.fail(ctx, SaslAuthenticateResponse(failed, told), reason_of(error))
    return SaslAuthenticateResponse(auth_bytes=answer, session_lifetime_ms=lifetime_ms)
