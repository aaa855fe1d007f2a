"""What a listener shows by a fault rule in place of its own certificate: one that nobody accepts.

`launch` makes it for the listeners with TLS; it costs nothing until a rule fires. Needs
`cryptography` (the extra `tls`).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.server.certificates import Authority, Certificate
    from mockbroker.server.settings import Settings
    from mockbroker.server.tls_auto import TlsFiles

FOREIGN: Final = "foreign"
EXPIRED: Final = "expired"
_SINCE: Final = timedelta(days=1)


class OtherCertificates:
    """`foreign` ones are by an authority that nobody knows.

    `expired` ones are by `authority`, which clients trust, and were valid until yesterday.
    """

    def __init__(self, authority: Authority | None, seconds: Callable[[], float]) -> None:
        """`seconds` is the time since 1970 by which clients look at certificates."""
        self._seconds = seconds
        self._foreign: Authority | None = None
        self._authority = authority

    @classmethod
    def of(
        cls, settings: Settings, files: TlsFiles | None, seconds: Callable[[], float]
    ) -> OtherCertificates | None:
        """Those of a broker; None where no listener has TLS, or the extra is not there."""
        has_tls = any(each.protocol.has_tls for each in settings.listeners)
        if not has_tls or find_spec("cryptography") is None:
            return None
        return cls(None if files is None else files.authority, seconds)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those that there are."""
        return (FOREIGN,) if self._authority is None else (EXPIRED, FOREIGN)

    def make(self, kind: str, certificate: bytes) -> Certificate:
        """One of a kind for the subject and the hosts of `certificate`, which is DER."""
        if kind == EXPIRED:
            assert self._authority is not None
            return self._authority.imitate(certificate, -_SINCE)
        if self._foreign is None:
            from mockbroker.server.certificates import Authority

            now = datetime.fromtimestamp(self._seconds(), UTC)
            self._foreign = Authority(now, "a stranger")
        return self._foreign.imitate(certificate)
