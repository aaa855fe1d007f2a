"""`--tls auto`: certificates of a broker and its clients, made when it starts, in a folder.

`launch` makes them, before a listener opens. Each start has an authority of its own, whose key is
written nowhere: what it signed is trusted by who was given `ca.pem`, for as long as a test lasts.

Invariant: a folder that was made here is gone after `remove`; one that was named stays.
"""

from __future__ import annotations

import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockbroker.server.key_stores import INSTALL
from mockbroker.server.values import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.server.certificates import Certificate
    from mockbroker.server.settings import Settings

_HERE: Final = ("localhost", "127.0.0.1", "::1")
_STORES: Final = (
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.truststore.type",
    "ssl.truststore.location",
)
_NAME: Final = "letters, digits, '.', '_', '@' and '-'"


class TlsFiles:
    """What was made for one broker, or several of a process, as files of PEM.

    `ca.pem` is whom clients trust; `NAME.pem` has a client's key and certificate, `CN=NAME`.
    """

    def __init__(self, settings: Settings, now_seconds: float) -> None:
        """Make all that the settings ask for. Raises SettingsError."""
        try:
            from mockbroker.server.certificates import Authority
        except ImportError:
            problem = "certificates are made with the extra tls"
            raise SettingsError(settings.written("tls"), problem, INSTALL) from None
        options = settings.options
        self._settings = settings
        folder = options["tls_dir"]
        self.authority = Authority(datetime.fromtimestamp(now_seconds, UTC))
        self._is_ours = folder is None
        self.clients: dict[str, str] = {}
        """The file of each client, by its name."""
        self.folder = Path(folder or tempfile.mkdtemp(prefix="mockbroker-tls-"))
        self.ca_file = str(self.folder / "ca.pem")
        self._server_file = str(self.folder / "server.pem")
        try:
            self._make()
        except OSError as error:
            self.remove()
            reason = (error.strerror or str(error)).lower()
            problem = f"{error.filename}: {reason}"
            raise SettingsError(settings.written("tls_dir"), problem, "a writable folder") from None
        except BaseException:
            self.remove()
            raise

    def _make(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write("server", self._issue_server())
        Path(self.ca_file).write_text(self.authority.certificate, "utf-8")
        for name in self._settings.options["tls_clients"]:
            self.client_file(name)

    def configs(self) -> dict[str, str]:
        """The broker configs that name them."""
        texts = ("PEM", self._server_file, "PEM", self.ca_file)
        return dict(zip(_STORES, texts, strict=True))

    def client_file(self, name: str) -> str:
        """The file of a client's key and certificate, which is made when it is first asked for."""
        if name not in self.clients:
            if not name or not name.isascii() or not name.translate(_WITHOUT_SIGNS).isalnum():
                option = self._settings.written("tls_clients")
                raise SettingsError(option, f"{name!r} is no name of a client", _NAME)
            if name in ("ca", "server"):
                option = self._settings.written("tls_clients")
                raise SettingsError(option, f"{name} is a file of its own", "another name")
            self.clients[name] = self._write(name, self.authority.issue(name))
        return self.clients[name]

    def remove(self) -> None:
        """Take away what nobody asked to keep."""
        if self._is_ours:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _issue_server(self) -> Certificate:
        settings = self._settings
        told = (
            host
            for listener in settings.listeners
            for host in (listener.advertised_host, listener.host)
        )
        names = [*_HERE, *settings.options["tls_names"], *_that_can_be_asked_for(told)]
        return self.authority.issue(names[0], names)

    def _write(self, name: str, made: Certificate) -> str:
        file = self.folder / f"{name}.pem"
        file.touch(0o600)
        file.write_text(made.key + made.certificate, "utf-8")
        return str(file)


_WITHOUT_SIGNS: Final = str.maketrans("", "", "._@-")


def _that_can_be_asked_for(hosts: Iterable[str | None]) -> list[str]:
    return [host for host in hosts if host and host not in ("0.0.0.0", "::")]  # noqa: S104
