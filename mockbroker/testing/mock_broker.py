"""The Python API: a broker inside the test's own process.

`with MockBroker(topics={"orders": 6}) as broker:` runs it in a thread of its own, so blocking
clients may be used beside it; `async with MockBroker(...)` runs it in the caller's event loop.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, NoReturn, Self

from mockbroker.server.launch import launch
from mockbroker.server.settings import Settings
from mockbroker.testing.bridge import Bridge
from mockbroker.testing.broker_thread import BrokerThread
from mockbroker.testing.broker_views import BrokerViews
from mockbroker.testing.client_config import ClientConfigs, ClientListener, Entrance, WantedToken

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Unpack

    from mockbroker.server.options import BrokerOptions
    from mockbroker.testing.aio import AsyncBroker
    from mockbroker.testing.remote.broker import RemoteBroker

__tracebackhide__ = True


class MockBroker(ClientConfigs, BrokerViews):
    """A fake Kafka broker for tests.

    Its keyword arguments are those of `BrokerOptions`, each as docs/options.md has it. `topics`
    maps a name to its partitions or to a table as in the configuration file (`{"partitions": 3,
    "config": {…}, "records": […]}`), or lists names; `config` holds broker configs under Kafka's
    names; `port` 0 takes any free port; `brokers` is how many there are (see `cluster`), on ports
    from `port` on or on a list of them, in `racks`; `seed` makes random ids repeatable;
    `freeze_clock` starts with a time that stands still (see `clock`); `faults` are armed from the
    start (see `faults`). A `with` that raised nothing ends with `verify`. Raises SettingsError,
    ConfigError or FaultError for a bad value, OSError when the address cannot be bound.
    """

    def __init__(self, **options: Unpack[BrokerOptions]) -> None:
        self._settings = Settings(**options)
        self._bridge: Bridge | None = None
        self._thread: BrokerThread | None = None

    @property
    def aio(self) -> AsyncBroker:
        """The same verbs as coroutines: `await broker.aio.topic("orders").wait_for(1)`."""
        from mockbroker.testing.aio import AsyncBroker

        return AsyncBroker(self._bridged())

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        token: str | None = None,
        bootstrap_servers: str | None = None,
        ca_file: str | None = None,
    ) -> RemoteBroker:
        """The same verbs for a broker in another process or a container, over its admin API.

        `url` is `http://HOST:PORT` of its admin port, `token` its bearer token; `ca_file` is the
        PEM file of whom to trust where it is `https`. Clients are given `bootstrap_servers`, or
        else what the broker says of itself. Raises AdminApiError when it
        does not answer. What the admin API cannot do raises NotSupported.
        """
        from mockbroker.testing.remote.broker import RemoteBroker

        return RemoteBroker(url, token, bootstrap_servers, ca_file)

    def _entrance(self) -> Entrance:
        return _Entrance(self._bridged())

    def _users(self) -> Mapping[str, str]:
        return self._settings.options["users"]

    # -- start and stop --------------------------------------------------------------------

    def start(self) -> Self:
        """Start in a thread of its own; `stop` ends it. `with` does both."""
        self._refuse_second_start()
        thread = BrokerThread(self._settings)
        self._bridge = Bridge(thread.start())
        self._thread = thread
        return self

    def stop(self) -> None:
        """Stop what `start` started; nothing happens when it was stopped before."""
        thread, self._thread = self._thread, None
        if thread is not None:
            bridge, self._bridge = self._bridge, None
            assert bridge is not None
            if not bridge.is_copy:
                thread.stop()
            bridge.close()

    def __del__(self) -> None:
        if getattr(self, "_thread", None) is not None and not sys.is_finalizing():
            assert self._bridge is not None
            if not self._bridge.is_copy:
                message = f"{self!r} was not stopped"
                warnings.warn(message, ResourceWarning, stacklevel=2, source=self)
            self.stop()

    def __reduce__(self) -> NoReturn:
        message = "a broker cannot be sent to another process: send its bootstrap_servers"
        raise TypeError(message)

    def _refuse_second_start(self) -> None:
        if self._bridge is not None:
            message = "the broker is running already"
            raise RuntimeError(message)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if exc is None and self._bridge is not None and not self._bridge.is_copy:
                self.verify()
        finally:
            self.stop()

    async def __aenter__(self) -> Self:
        self._refuse_second_start()
        self._bridge = Bridge(await launch(self._settings))
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        bridge = self._bridge
        if bridge is None:
            return
        try:
            if exc is None:
                await self.aio.verify()
        finally:
            self._bridge = None
            await bridge.running.stop()
            bridge.close()


class _Entrance(Entrance):
    """That of a broker in this process."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._running = bridge.running

    def listeners(self) -> list[ClientListener]:
        running = self._running
        return [
            ClientListener(name, protocol, bootstrap, running.requires_certificate(name))
            for name, protocol, bootstrap in running.entrances()
        ]

    def pem_file(self, name: str) -> str | None:
        running = self._running
        return self._bridge.call(lambda _: running.pem_file(name))

    def token(self, wanted: WantedToken) -> str:
        running = self._running
        return self._bridge.call(lambda _: running.token(*wanted))
