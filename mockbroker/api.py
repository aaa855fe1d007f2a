"""The Python API: a broker inside the test's own process.

`with MockBroker(topics={"orders": 6}) as broker:` runs it in a thread of its own, so blocking
clients may be used beside it; `async with MockBroker(...)` runs it in the caller's event loop.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Self

from mockbroker.launch import RunningBroker, launch, new_event_loop
from mockbroker.settings import Settings, check_topic_name, parse_count, parse_port

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

START_TIMEOUT_SECONDS = 10.0
METRICS_TIMEOUT_SECONDS = 10.0


class MockBroker:
    """A fake Kafka broker for tests.

    `topics` maps a name to its partitions, or lists names; `config` holds broker configs under
    Kafka's names; `port` 0 takes any free port; `seed` makes random ids repeatable. Raises
    SettingsError or ConfigError for a bad value, OSError when the address cannot be bound.
    """

    def __init__(
        self,
        *,
        topics: Mapping[str, int] | Iterable[str] = (),
        auto_create: bool = True,
        default_partitions: int = 1,
        config: Mapping[str, str | int | bool] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        advertised_host: str | None = None,
        seed: int | None = None,
    ) -> None:
        settings_config = {
            "auto.create.topics.enable": "true" if auto_create else "false",
            "num.partitions": str(parse_count("default_partitions", default_partitions)),
        }
        for key, value in (config or {}).items():
            settings_config[key] = str(value).lower() if isinstance(value, bool) else str(value)
        self._settings = Settings(
            host=host,
            port=parse_port("port", port),
            topics=_topics(topics),
            config=settings_config,
            advertised_host=advertised_host,
            seed=seed,
        )
        self._running: RunningBroker | None = None
        self._thread: _BrokerThread | None = None

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT for a client's `bootstrap.servers`."""
        return self._started().bootstrap_servers

    @property
    def host(self) -> str:
        """The address that the broker listens on."""
        return self._started().host

    @property
    def port(self) -> int:
        """The port that the broker listens on."""
        return self._started().port

    @property
    def cluster_id(self) -> str:
        """The cluster's id."""
        return self._started().cluster_id

    def metrics(self) -> dict[str, float]:
        """What the broker counts, value by name, from any thread.

        Names are those of Kafka's MBeans where Kafka has the metric; its meters are counts here.
        """
        running = self._started()

        async def read() -> dict[str, float]:
            return running.metrics()

        if _running_loop() is running.loop:
            return running.metrics()
        future = asyncio.run_coroutine_threadsafe(read(), running.loop)
        return future.result(METRICS_TIMEOUT_SECONDS)

    def _started(self) -> RunningBroker:
        if self._running is None:
            message = "the broker is not running: use it in `with` or `async with`"
            raise RuntimeError(message)
        return self._running

    def start(self) -> Self:
        """Start in a thread of its own; `stop` ends it. `with` does both."""
        if self._running is not None:
            message = "the broker is running already"
            raise RuntimeError(message)
        thread = _BrokerThread(self._settings)
        self._running = thread.start()
        self._thread = thread
        return self

    def stop(self) -> None:
        """Stop what `start` started; nothing happens when it was stopped before."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._running = None
            thread.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        if self._running is not None:
            message = "the broker is running already"
            raise RuntimeError(message)
        self._running = await launch(self._settings)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.stop()


class _BrokerThread:
    """One broker and its event loop in a daemon thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loop = new_event_loop()
        self._ready = threading.Event()
        self._end = asyncio.Event()
        self._running: RunningBroker | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="mockbroker", daemon=True)

    def start(self) -> RunningBroker:
        self._thread.start()
        try:
            in_time = self._ready.wait(START_TIMEOUT_SECONDS)
        except BaseException:
            self._loop.call_soon_threadsafe(self._end.set)
            raise
        if not in_time:
            self._loop.call_soon_threadsafe(self._end.set)
            message = f"the broker did not start within {START_TIMEOUT_SECONDS} s"
            raise TimeoutError(message)
        if self._error is not None:
            self._thread.join()
            raise self._error
        assert self._running is not None
        return self._running

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        try:
            self._running = await launch(self._settings)
        except BaseException as error:  # noqa: BLE001 -- raised again in the caller's thread
            self._error = error
            return
        finally:
            self._ready.set()
        await self._end.wait()
        await self._running.stop()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _topics(topics: Mapping[str, int] | Iterable[str]) -> dict[str, int | None]:
    from collections.abc import Mapping

    if isinstance(topics, str):
        topics = [topics]
    counts: dict[str, int | None] = {}
    for name in topics:
        check_topic_name("topics", name)
        counts[name] = (
            parse_count(f"topics[{name!r}]", topics[name]) if isinstance(topics, Mapping) else None
        )
    return counts
