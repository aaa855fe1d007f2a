"""A Testcontainers class for mockbroker's image: `with MockBrokerContainer() as broker: ...`.

It has the views and verbs of `MockBroker`, over the admin API of the container.

Needs the extra `testcontainers` and a Docker engine. Tests in Python that need no container are
better off with `MockBroker`, which starts in milliseconds; this is for the image itself, and for
services that are containers too.

Clients on the host must be told the host's port, which is known once the container runs. So the
container waits for one small file with its advertised listener, and starts the broker then.
Services in the same network use INSIDE, whose clients are told the address that they connected to.
"""

from __future__ import annotations

import io
import secrets
import tarfile
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final, Self

from testcontainers.core.container import DockerContainer

from mockbroker.cli.errors import CommandError
from mockbroker.cli.health import ask_listener
from mockbroker.testing.remote.broker import RemoteClientConfigs, attach, awaited

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.testing.aio import AsyncBroker

INSIDE_PORT: Final = 9092
OUTSIDE_PORT: Final = 29092
ADMIN_PORT: Final = 9644
START_SECONDS: Final = 60.0
"""How long a container may take until clients may connect."""
_POLL_SECONDS: Final = 0.05
_FOLDER: Final = "/tmp"  # noqa: S108 -- of the container, which is the broker's alone
_FILE: Final = "mockbroker.advertised"
_WAIT_AND_SERVE: Final = (
    f"until [ -s {_FOLDER}/{_FILE} ]; do sleep 0.02; done;"
    f' export MOCKBROKER_ADVERTISED_LISTENER="$(cat {_FOLDER}/{_FILE})";'
    " exec mockbroker serve"
)


class MockBrokerContainer(DockerContainer, RemoteClientConfigs):
    """A broker in a container of `image`.

    `topics` maps a name to its partition count (None: num.partitions), `config` holds broker
    configs under Kafka's names, as text. Further settings are variables:
    `with_env("MOCKBROKER_SEED", "7")`. One broker: each would need a port of the host that counts
    up. The rest goes to DockerContainer. Its views and verbs are there while it runs.
    """

    def __init__(
        self,
        image: str = "mockbroker:latest",
        *,
        topics: Mapping[str, int | None] | None = None,
        config: Mapping[str, str] | None = None,
        **kwargs: Any,  # noqa: ANN401 -- DockerContainer's own
    ) -> None:
        super().__init__(image, **kwargs)
        self._kwargs["entrypoint"] = ["sh", "-c", _WAIT_AND_SERVE]
        self.with_env("MOCKBROKER_LISTENER", f"OUTSIDE://:{OUTSIDE_PORT},INSIDE://:{INSIDE_PORT}")
        if topics:
            entries = (f"{name}:{count}" if count else name for name, count in topics.items())
            self.with_env("MOCKBROKER_TOPIC", ",".join(entries))
        if config:
            pairs = (f"{key}={value}" for key, value in config.items())
            self.with_env("MOCKBROKER_SET", "\n".join(pairs))
        self._token = secrets.token_hex(16)
        self.with_env("MOCKBROKER_ADMIN_PORT", str(ADMIN_PORT))
        self.with_env("MOCKBROKER_ADMIN_HOST", "0.0.0.0")  # noqa: S104 -- of the container
        self.with_env("MOCKBROKER_ADMIN_TOKEN", self._token)
        self.with_exposed_ports(OUTSIDE_PORT, ADMIN_PORT)

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT for clients on the host."""
        return self._reached_at(OUTSIDE_PORT)

    @property
    def aio(self) -> AsyncBroker:
        """The same verbs as coroutines."""
        return awaited(self)

    def _reached_at(self, port: int) -> str:
        return f"{self.get_container_host_ip()}:{self.get_exposed_port(port)}"

    def start(self) -> Self:
        """Start it; returns once clients may connect. Raises TimeoutError with the log, at once
        when the broker ended.
        """
        super().start()
        self._tell_advertised(f"OUTSIDE://{self.bootstrap_servers}")
        deadline = monotonic() + START_SECONDS
        while True:
            try:
                ask_listener(self.bootstrap_servers)
                attach(self, f"http://{self._reached_at(ADMIN_PORT)}", self._token)
                return self
            except CommandError as error:
                container = self.get_wrapped_container()
                container.reload()
                if container.status == "exited" or monotonic() > deadline:
                    log = b"".join(self.get_logs()).decode(errors="replace")
                    raise TimeoutError(f"{error}; the container's log:\n{log}") from None
                sleep(_POLL_SECONDS)

    def restart(self) -> None:
        """Put a new container in this one's place; on other ports of the host, as a rule."""
        self.get_wrapped_container().remove(force=True, v=True)
        self.start()

    def _tell_advertised(self, listener: str) -> None:
        """Put the file there that the container waits for."""
        text = listener.encode()
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            entry = tarfile.TarInfo(_FILE)
            entry.size = len(text)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(text))
        self.get_wrapped_container().put_archive(_FOLDER, buffer.getvalue())
