"""Where the keys are that sign clients' tokens: a file, or an endpoint of an identity provider.

`launch` makes one for each listener that checks signatures and gives it to the broker's configs;
the core asks for the text at each login (Kafka: JwksFileVerificationKeyResolver, CachedFile,
RefreshingHttpsJwks).

Invariants: a file that was written anew counts from the next login on; an endpoint is asked at the
start, then at intervals of the broker's clock and for keys that are missing, in a thread; while it
does not answer, its last text counts.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, url2pathname, urlopen

from mockbroker.config.listeners import listener_int
from mockbroker.config.logins import JWKS_URL, OAUTH, OWN_KEYS, jwks_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.config.broker import TokenKeys

MAX_BYTES: Final = 1 << 20
"""Of a set of keys; a longer one is none."""
MISSING_MS: Final = 60_000
"""So long no other key that is missing has the endpoint asked anew (RefreshingHttpsJwks)."""
_TIMEOUT_SECONDS: Final = 10.0
_ALLOWED: Final = "a JSON Web Key Set in a file, or at an HTTP endpoint that answers"
_REFRESH: Final = f"{OAUTH}.jwks.endpoint.refresh.ms"
_RETRY: Final = f"{OAUTH}.jwks.endpoint.retry.backoff.max.ms"


class TokenKeysError(ValueError):
    """Keys that cannot be used at the start: the config's key, what is wrong, what is allowed."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.key = JWKS_URL
        self.problem = problem
        self.allowed = _ALLOWED


class KeyFile:
    """A file that is read again when it was written anew."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._written: tuple[int, int] | None = None
        self._text: str | None = None

    def text(self) -> str | None:
        """What the file holds now; None: it cannot be read."""
        try:
            found = self._path.stat()
            written = found.st_mtime_ns, found.st_size
            if written != self._written:
                self._text = self._read()
                self._written = written
        except (OSError, ValueError):
            self._written = self._text = None
        return self._text

    def missing(self) -> None:
        """A key is not in it: it is read at each login anyway."""

    def _read(self) -> str:
        with self._path.open(encoding="utf-8") as stream:
            return stream.read(MAX_BYTES)


class KeyEndpoint:
    """An HTTP endpoint. `refresh_ms` and `retry_ms` are on the clock of `cluster`."""

    def __init__(self, url: str, cluster: Cluster, refresh_ms: int, retry_ms: int) -> None:
        self._url = url
        self._cluster = cluster
        self._refresh_ms = refresh_ms
        self._retry_ms = retry_ms
        self._asked_ms: float | None = None
        self._asking: asyncio.Task[None] | None = None
        self._text: str | None = None

    async def start(self) -> None:
        """Ask for the first time. Raises OSError."""
        self._text = await asyncio.to_thread(self._get)
        self._schedule(self._refresh_ms)

    def text(self) -> str | None:
        """What it answered last."""
        return self._text

    def missing(self) -> None:
        """A key is not in it: ask again, unless it was for one a short while ago."""
        now_ms = self._cluster.clock.now_ms
        if self._asked_ms is None or now_ms - self._asked_ms >= MISSING_MS:
            self._asked_ms = now_ms
            self._ask()

    def stop(self) -> None:
        """Ask no more."""
        if self._asking is not None:
            self._asking.cancel()

    def _schedule(self, after_ms: int) -> None:
        if after_ms > 0:
            self._cluster.timer.schedule(self._cluster.clock.now_ms + after_ms, self._due)

    def _due(self) -> None:
        self._ask(then=self._schedule)

    def _ask(self, then: Callable[[int], None] | None = None) -> None:
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._renew(then))
        elif then is not None:
            then(self._refresh_ms)

    async def _renew(self, then: Callable[[int], None] | None) -> None:
        after_ms = self._retry_ms
        with suppress(OSError, ValueError):
            self._text = await asyncio.to_thread(self._get)
            after_ms = self._refresh_ms
        if then is not None:
            then(after_ms)

    def _get(self) -> str:
        asked = Request(self._url, headers={"Accept": "application/json"})  # noqa: S310 -- http(s)
        try:
            with urlopen(asked, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 -- the same
                found: bytes = answer.read(MAX_BYTES)
        except HTTPError as refusal:
            refusal.close()
            raise
        return found.decode()


async def read_token_keys(cluster: Cluster, listener: str) -> None:
    """Give each broker the keys of a listener that checks signatures. Raises TokenKeysError."""
    config = cluster.nodes[0].config
    url = jwks_url(config, listener)
    if url is None:
        return
    source: TokenKeys
    if url == OWN_KEYS:
        source = _own_keys()
    elif urlsplit(url).scheme.lower() == "file":
        source = KeyFile(url2pathname(urlsplit(url).path))
        if source.text() is None:
            raise TokenKeysError(f"the file of {url} cannot be read")
    else:
        refresh_ms = listener_int(config, listener, _REFRESH, "OAUTHBEARER")
        retry_ms = listener_int(config, listener, _RETRY, "OAUTHBEARER")
        source = endpoint = KeyEndpoint(url, cluster, refresh_ms, retry_ms)
        try:
            await endpoint.start()
        except (OSError, ValueError) as error:
            reason = str(getattr(error, "reason", None) or error).lower()
            raise TokenKeysError(f"{url} does not answer with keys ({reason})") from None
    _check(source)
    for node in cluster.nodes:
        node.config.token_keys[listener] = source


def _own_keys() -> TokenKeys:
    try:
        from mockbroker.server.own_keys import OwnKeys
    except ImportError:
        raise _without_the_extra() from None
    return OwnKeys()


def _without_the_extra() -> TokenKeysError:
    from mockbroker.server.key_stores import INSTALL

    error = TokenKeysError("signatures are made and checked with the extra tls")
    error.allowed = INSTALL
    return error


def _check(source: TokenKeys) -> None:
    """See that they are keys, and that signatures can be checked."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise _without_the_extra() from None
    try:
        found = loads(source.text() or "")
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("keys"), list):
        raise TokenKeysError("what is there is no JSON Web Key Set")
