"""Keys that sign tokens come from a file or an endpoint, and are asked for again in time."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import time
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from mockbroker.journal import Login
from mockbroker.server.launch import RunningBroker, launch
from mockbroker.server.settings import Settings
from mockbroker.server.token_keys import MISSING_MS, KeyEndpoint
from mockbroker.server.values import SettingsError
from mockbroker_protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from tests.support.logins import bearer
from tests.support.signed_tokens import claims, configs, ec_key, jwk, jwks, signed
from tests.support.sockets import RawConnection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIRST, SECOND = ec_key("P-256"), ec_key("P-384")
ONE, BOTH = jwks(jwk(FIRST, kid="one")), jwks(jwk(FIRST, kid="one"), jwk(SECOND, kid="two"))


class Provider(ThreadingHTTPServer):
    """Answers with `text`, and counts how often."""

    text = ONE
    asked = 0


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Provider)
        text = self.server.text
        self.server.asked += 1
        self.send_response(200 if text else 503)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def url(provider: Provider) -> str:
    return f"http://127.0.0.1:{provider.server_port}/keys"


async def started(address: str, **config: str) -> RunningBroker:
    prefix = "listener.name.sasl.oauthbearer.sasl.oauthbearer.jwks.endpoint."
    own = {f"{prefix}{key.replace('_', '.')}": text for key, text in config.items()}
    return await launch(
        Settings(
            listeners=["SASL://:0"],
            config={**configs("SASL", address), **own},
            freeze_clock=True,
        )
    )


async def login(running: RunningBroker, key: object, key_id: str) -> bytes:
    """What a token of now is answered with; nothing: its client is in."""
    algorithm = "ES256" if key is FIRST else "ES384"
    token = signed(claims(int(time())), key=key, algorithm=algorithm, key_id=key_id)
    async with await RawConnection.open(running.bootstrap_servers) as client:
        await client.call(SaslHandshakeRequest("OAUTHBEARER"), 1, SaslHandshakeResponse)
        sent = SaslAuthenticateRequest(bearer(token))
        return (await client.call(sent, 2, SaslAuthenticateResponse)).auth_bytes


async def answered(running: RunningBroker) -> None:
    """Wait until the broker knows what the provider says that it has just begun to ask."""
    endpoint = running.cluster.nodes[0].config.token_keys["SASL"]
    assert isinstance(endpoint, KeyEndpoint)
    assert endpoint._asking is not None
    await endpoint._asking


async def test_a_file_that_is_written_anew_counts_at_once(tmp_path: Path) -> None:
    file = tmp_path / "keys of mine.json"
    file.write_text(ONE)
    running = await started(file.as_uri())
    try:
        assert await login(running, FIRST, "one") == b""
        assert await login(running, SECOND, "two") == b'{"status":"invalid_token"}'
        file.write_text(BOTH)
        assert await login(running, SECOND, "two") == b""
        for break_it in (lambda: file.write_text("junk"), file.unlink):
            break_it()
            assert await login(running, FIRST, "one") == b'{"status":"invalid_token"}'
        file.write_text(ONE)
        assert await login(running, FIRST, "one") == b""
        logins = [one for one in running.journal.events() if isinstance(one, Login)]
        assert {one.principal for one in logins if one.reason is None} == {"User:alice"}
    finally:
        await running.stop()


async def test_an_endpoint_is_asked_again_when_it_is_time(provider: Provider) -> None:
    running = await started(url(provider), refresh_ms="100000")
    try:
        assert await login(running, FIRST, "one") == b""
        provider.text = BOTH
        await running.advance(99_000, wall=False)
        assert provider.asked == 1
        await running.advance(2_000, wall=False)
        await answered(running)
        assert provider.asked == 2
        assert await login(running, SECOND, "two") == b""
    finally:
        await running.stop()


async def test_a_key_that_is_missing_has_an_endpoint_asked_once_a_minute(
    provider: Provider,
) -> None:
    running = await started(url(provider))
    try:
        assert await login(running, SECOND, "two") == b'{"status":"invalid_token"}'
        await answered(running)
        assert provider.asked == 2
        provider.text = BOTH
        assert await login(running, SECOND, "two") == b'{"status":"invalid_token"}'
        assert provider.asked == 2
        await running.advance(MISSING_MS, wall=False)
        assert await login(running, SECOND, "two") == b'{"status":"invalid_token"}'
        await answered(running)
        assert provider.asked == 3
        assert await login(running, SECOND, "two") == b""
    finally:
        await running.stop()


async def test_while_an_endpoint_does_not_answer_its_last_keys_count(provider: Provider) -> None:
    running = await started(url(provider), refresh_ms="1000", retry_backoff_max_ms="50")
    try:
        provider.text = ""
        await running.advance(1_000, wall=False)
        await answered(running)
        assert provider.asked == 2
        assert await login(running, FIRST, "one") == b""
    finally:
        await running.stop()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "the file of file:.* cannot be read"),
        ("junk", "no JSON Web Key Set"),
        ("{}", "no JSON Web Key Set"),
    ],
)
async def test_a_start_without_keys_ends(tmp_path: Path, text: str | None, problem: str) -> None:
    file = tmp_path / "keys.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingsError, match=f"oauthbearer.jwks.endpoint.url: .*{problem}"):
        await started(file.as_uri())


async def test_a_start_whose_endpoint_does_not_answer_ends(provider: Provider) -> None:
    provider.text = ""
    with pytest.raises(SettingsError, match="does not answer with keys"):
        await started(url(provider))
