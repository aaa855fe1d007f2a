"""Where clients of a broker elsewhere come in, as its admin API tells it.

What it made of certificates is fetched when it is asked for, into a folder that is kept for
as long as this process: a client reads its files after whoever fetched them may be gone.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from mockbroker.admin.client import AdminClient, segment
from mockbroker.testing.client_config import ClientListener, Entrance, WantedToken
from mockbroker.testing.kept_files import kept_folder, write_kept
from mockbroker.testing.remote.refusals import refused_as

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.testing.polling import PollingBridge

__tracebackhide__ = True


class RemoteEntrance(Entrance):
    """That of the broker behind `caller`, whose first listener is at `bootstrap_servers`."""

    def __init__(self, caller: PollingBridge[AdminClient], bootstrap_servers: str) -> None:
        self.caller = caller
        self._bootstrap_servers = bootstrap_servers
        self._folder: Path | None = None
        self._lock = threading.Lock()

    def listeners(self) -> list[ClientListener]:
        found = self.caller.call(lambda client: client.get("/v1/listeners")["listeners"])
        first, *others = (ClientListener(**one) for one in found)
        return [first._replace(bootstrap_servers=self._bootstrap_servers), *others]

    def token(self, wanted: WantedToken) -> str:
        body = {**wanted._asdict(), "claims": wanted.claims or {}}

        def make(client: AdminClient) -> str:
            with refused_as(ValueError):
                return str(client.send("POST", "/v1/tokens", body)["token"])

        return self.caller.call(make)

    def pem_file(self, name: str) -> str | None:
        def fetch(client: AdminClient) -> str | None:
            with refused_as(ValueError):
                found = client.find(f"/v1/certificates/{segment(name)}")
            return None if found is None else str(found["pem"])

        text = self.caller.call(fetch)
        if text is None:
            return None
        with self._lock:
            if self._folder is None:
                self._folder = kept_folder("mockbroker-tls-")
        file = self._folder / f"{name}.pem"
        write_kept(file, text)
        return str(file)
