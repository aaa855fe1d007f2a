"""Puts a broker together and on the network: settings in, a running broker out.

Called by `app` (a process of its own) and by `api` (inside the caller's process). This is where
the core meets what it may not know itself: the wall clock, real randomness, the event loop.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import TYPE_CHECKING, TypeVar

from mockbroker.cluster.cluster import Cluster
from mockbroker.config.security_protocol import PROTOCOL_MAP
from mockbroker.network.server import ClusterServer
from mockbroker.network.timekeeper import TimeKeeper
from mockbroker.server.listeners import DEFAULT_NAME
from mockbroker.state.scope import Scopes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from ssl import SSLContext

    from mockbroker.admin.listener import AdminListener
    from mockbroker.journal import Journal
    from mockbroker.network.timekeeper import TimeMark
    from mockbroker.server.journal_files import JournalWriter
    from mockbroker.server.listeners import Listener
    from mockbroker.server.other_certificates import OtherCertificates
    from mockbroker.server.settings import Settings
    from mockbroker.server.tls_auto import TlsFiles
    from mockbroker.server.tls_listener import TlsListener
    from mockbroker.state.preparation import Preparation


T = TypeVar("T")


class ControllerAddressError(OSError):
    """The controller's listener cannot be bound; the brokers' could."""


class ListenerAddressError(OSError):
    """The address of a listener with a name of its own cannot be bound."""

    def __init__(self, error: OSError, listener: Listener) -> None:
        super().__init__(error.errno, error.strerror or str(error))
        self.listener = listener


class RunningBroker:
    """A broker, or several, that accept connections; it runs in `loop`.

    `listeners` has the addresses of each listener, broker by broker; `addresses` are those of the
    first one, `host` and `port` the first of these.
    """

    __slots__ = (
        "_admin",
        "_server",
        "_watchers",
        "addresses",
        "admin_port",
        "cluster",
        "controller_port",
        "host",
        "journal_writer",
        "listeners",
        "loop",
        "port",
        "schema_registry",
        "scopes",
        "settings",
        "timekeeper",
        "tls",
    )

    scopes: Scopes[TimeMark]
    """Those that are open; the outermost begins when all is launched."""

    def __init__(
        self,
        cluster: Cluster,
        server: ClusterServer,
        timekeeper: TimeKeeper,
        listeners: dict[str, list[tuple[str, int]]],
        settings: Settings,
    ) -> None:
        self.settings = settings
        self.schema_registry: str | None = settings.options["schema_registry"]
        self._admin: AdminListener | None = None
        self._watchers: list[Callable[[], None]] = []
        self.admin_port: int | None = None
        self.cluster = cluster
        self._server = server
        self.timekeeper = timekeeper
        self.controller_port: int | None = None
        self.listeners = listeners
        self.addresses = next(iter(listeners.values()))
        self.host, self.port = self.addresses[0]
        self.journal_writer: JournalWriter | None = None
        self.tls: TlsFiles | None = None
        """The certificates that were made, with `--tls auto`."""
        self.loop = asyncio.get_running_loop()

    @property
    def version(self) -> str:
        """Of mockbroker."""
        return version()

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT for a client's `bootstrap.servers`, of all brokers, separated by commas."""
        return ",".join(address_text(host, port) for host, port in self.addresses)

    @property
    def bootstrap_by_listener(self) -> dict[str, str]:
        """The same for each listener, by its name."""
        return {
            name: ",".join(address_text(host, port) for host, port in addresses)
            for name, addresses in self.listeners.items()
        }

    def entrances(self) -> list[tuple[str, str, str]]:
        """Name, security protocol and `bootstrap.servers` of each listener for clients."""
        servers = self.bootstrap_by_listener
        return [
            (each.name, each.protocol.name, servers[each.name]) for each in self.settings.listeners
        ]

    def pem_file(self, name: str) -> str | None:
        """With `--tls auto` the file of a client of that name, or of the authority, `ca`.

        None without it; ValueError for what is no name.
        """
        if self.tls is None or name == "ca":
            return None if self.tls is None else self.tls.ca_file
        from mockbroker.server.values import SettingsError

        try:
            return self.tls.client_file(name)
        except SettingsError as error:
            raise ValueError(str(error)) from None

    def token(self, *wanted: object) -> str:
        """As `security.own_tokens.WantedToken`, in a step of the cluster. Raises ValueError."""
        brokers = self.cluster.brokers
        if not brokers:
            raise ValueError("no broker is up that could make a token: start one first")
        names = [each.name for each in self.settings.listeners]
        return brokers[0].services.admission.make_token(names, wanted)

    def requires_certificate(self, listener: str) -> bool:
        """Whether clients of a listener have to show a certificate."""
        from mockbroker.config.listeners import listener_text

        config = self.cluster.nodes[0].config
        return listener_text(config, listener, "ssl.client.auth") == "required"

    def advertised(self, node: int) -> dict[str, tuple[str, int]]:
        """Where a node's clients are told that it is, by listener; `node` counts from 0."""
        told = {}
        for listener in self.settings.listeners:
            host, port = self.listeners[listener.name][node]
            told[listener.name] = (
                listener.advertised_host or _WILDCARDS.get(host, host),
                listener.advertised_port_of(node) or port,
            )
        return told

    def ports(self) -> set[int]:
        """All ports that it listens on."""
        ports = {port for addresses in self.listeners.values() for _, port in addresses}
        return ports | {port for port in (self.controller_port, self.admin_port) if port}

    @property
    def controller_servers(self) -> str | None:
        """HOST:PORT for `controller.quorum.bootstrap.servers`; None without such a listener."""
        port = self.controller_port
        return None if port is None else address_text(self.host, port)

    @property
    def broker_ids(self) -> list[int]:
        """The nodes' ids, in the order of `addresses`."""
        return [node.node_id for node in self.cluster.nodes]

    @property
    def cluster_id(self) -> str:
        """The cluster's id, 22 characters as Kafka's."""
        return self.cluster.metadata.cluster_id

    @property
    def strict(self) -> bool:
        """Whether a request that is refused fails a test."""
        return self.settings.options["strict"]

    @property
    def journal(self) -> Journal:
        """What happens, as values."""
        return self.cluster.journal

    def metrics(self) -> dict[str, float]:
        """The metrics, value by name, summed over the brokers; to be called in `loop`."""
        brokers = self.cluster.brokers
        if len(brokers) == 1:
            return brokers[0].metrics()
        total: dict[str, float] = {}
        for broker in brokers:
            for name, value in broker.metrics().items():
                total[name] = total.get(name, 0) + value
        return total

    def act(self, action: Callable[[Cluster], T]) -> T:
        """Look at the cluster, or act on it, as one step; to be called in `loop`."""
        return self._server.act(lambda: action(self.cluster))

    async def advance(self, by_ms: float, *, wall: bool) -> None:
        """Let so much time pass at once, and clients be served on the way if that is much work."""
        slices = self.timekeeper.advancing(by_ms, wall=wall)
        while True:
            if self.act(lambda _: next(slices, self)) is self:
                return
            await asyncio.sleep(0)

    def watch_steps(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` in `loop` after each step from now on; what is returned ends that."""
        self._watchers.append(callback)
        self._server.after_step = self._stepped

        def unwatch() -> None:
            if callback in self._watchers:
                self._watchers.remove(callback)
            if not self._watchers:
                self._server.after_step = None

        return unwatch

    @property
    def watched(self) -> bool:
        """Whether anyone wants to be called after each step."""
        return bool(self._watchers)

    def _stepped(self) -> None:
        for callback in tuple(self._watchers):
            callback()

    @property
    def admin_url(self) -> str | None:
        """Where the admin API is; None without an admin port."""
        if self.admin_port is None:
            return None
        options = self.settings.options
        scheme = "https" if options["admin_tls"] else "http"
        return f"{scheme}://{address_text(options['admin_host'], self.admin_port)}"

    def start_admin(self) -> None:
        """Listen on the admin port. Raises AdminError, SettingsError or OSError."""
        from mockbroker.admin.limits import Limits
        from mockbroker.admin.listener import AdminListener

        options = self.settings.options
        assert options["admin_port"] is not None
        limits = Limits(
            options["admin_max_connections"],
            options["admin_max_request_bytes"],
            options["admin_timeout_ms"],
        )
        tls = _admin_tls(self.cluster, self.settings) if options["admin_tls"] else None
        self._admin = AdminListener(
            self, options["admin_host"], options["admin_port"], options["admin_token"], limits, tls
        )
        self.admin_port = self._admin.start()

    def reset(self) -> None:
        """Make the broker as it was when it started; clients stay connected. In `loop`."""
        self.act(lambda _: self.scopes.reset())

    async def stop(self) -> None:
        """Stop accepting, answer what is parked, close, write the journal to its end."""
        if self._admin is not None:
            await self._admin.stop()
        await self._server.stop()
        if self.journal_writer is not None:
            await asyncio.to_thread(self.journal_writer.stop)
        if self.tls is not None:
            self.tls.remove()


def version() -> str:
    """The version of this package; the package itself is a room above."""
    found: str = sys.modules["mockbroker"].__version__
    return found


def address_text(host: str, port: int) -> str:
    """HOST:PORT under which a client of this machine reaches a listener."""
    host = _WILDCARDS.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 -- looked up, not bound


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A uvloop loop where it is installed, else asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def launch(settings: Settings) -> RunningBroker:
    """Start a broker in the running loop.

    Raises OSError (address), SettingsError, ConfigError or FaultError.
    """
    options = settings.options
    files = None
    if options["tls"] is not None:
        from mockbroker.server.tls_auto import TlsFiles

        files = TlsFiles(settings, time.time())
    try:
        running = await _launch(settings, files)
    except BaseException:
        if files is not None:
            files.remove()
        raise
    running.tls = files
    return running


async def _launch(settings: Settings, files: TlsFiles | None) -> RunningBroker:
    options = settings.options
    stores = {} if files is None else files.configs()
    seed = int.from_bytes(os.urandom(8), "big") if options["seed"] is None else options["seed"]
    cluster = Cluster(
        settings.config | stores,
        settings.topics,
        substream=lambda purpose: Random(f"{seed}/{purpose}"),
        epoch_ms=time.time_ns() // 1_000_000,
        brokers=settings.brokers,
        racks=settings.racks,
        cluster_id=options["cluster_id"],
        outsiders=options["controller_port"] is not None,
    )
    cluster.journal.replication = options["journal_replication"]
    writer = None if options["journal"] is None else _start_journal(cluster, settings, seed)
    from mockbroker.server.other_certificates import OtherCertificates

    others = OtherCertificates.of(settings, files, time.time)
    cluster.other_certificates = () if others is None else others.kinds
    try:
        if settings.faults:
            cluster.faults.add(settings.faults)
        if settings.preparation is not None:
            _prepare(cluster, settings.preparation)
        running = await _serve(cluster, settings, others)
        if settings.options["cluster_actions"]:
            await _act(running, settings)
    except BaseException:
        if writer is not None:
            writer.stop()
        raise
    running.journal_writer = writer
    running.scopes = Scopes(cluster, running.timekeeper)
    return running


def _start_journal(cluster: Cluster, settings: Settings, seed: int) -> JournalWriter:
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.server.journal_files import JournalWriter
    from mockbroker.server.journal_lines import LineFiles
    from mockbroker.server.values import SettingsError

    options = settings.options
    folder = str(options["journal"])
    facts = {
        "mockbroker": version(),
        "cluster_id": cluster.metadata.cluster_id,
        "nodes": sorted(cluster.metadata.brokers),
        "seed": None if options["seed"] is None else str(seed),
        "replay": options["journal_replay"],
        "settings": {
            key: "[hidden]" if BrokerConfig.definition(key).sensitive else text
            for key, text in settings.config.items()
        },
    }
    run = os.urandom(8).hex()
    files = LineFiles(folder, run, facts, cluster.clock.epoch_ms)
    replay: bool = options["journal_replay"]
    writer = JournalWriter(files, cluster.journal, cluster.clock, cluster.metadata, replay=replay)
    try:
        writer.start()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        problem = f"{folder}: cannot be written ({reason})"
        raise SettingsError(settings.written("journal"), problem, "a writable directory") from None
    return writer


async def _serve(
    cluster: Cluster, settings: Settings, others: OtherCertificates | None
) -> RunningBroker:
    """Listen, for clients first, then for controllers, then for the admin API."""
    timekeeper = TimeKeeper(cluster, frozen=settings.options["freeze_clock"])
    server = ClusterServer(cluster, timekeeper)
    try:
        listeners: dict[str, list[tuple[str, int]]] = {}
        for each in settings.listeners:
            with _naming(settings, each):
                told = partial(_advertise, cluster, each)
                if each.protocol.has_sasl:
                    await _read_token_keys(cluster, each.name, settings)
                tls = _tls_of(cluster, each, settings, others) if each.protocol.has_tls else ()
                listeners[each.name] = await server.start(
                    each.name, each.host, each.ports, told, tls
                )
        cluster.interconnect.introduce_all()
        running = RunningBroker(cluster, server, timekeeper, listeners, settings)
        if settings.options["controller_port"] is not None:
            await _start_controller(running, server, settings)
        for node, broker in enumerate(cluster.brokers):
            broker.services.config.set_static(_listener_configs(running, node))
        if settings.options["admin_port"] is not None:
            running.start_admin()
    except BaseException:
        await server.stop()
        raise
    return running


def _tls_of(
    cluster: Cluster,
    listener: Listener,
    settings: Settings,
    others: OtherCertificates | None,
) -> Sequence[TlsListener]:
    """The certificates of a listener, for each broker."""
    from mockbroker.server.tls_listener import TlsListener

    name, logs_in = listener.name, listener.protocol.has_sasl
    with _naming_store(settings, name):
        return [
            TlsListener(node.config, name, logs_in=logs_in, others=others) for node in cluster.nodes
        ]


async def _read_token_keys(cluster: Cluster, listener: str, settings: Settings) -> None:
    """The keys that sign tokens for a listener, if any are to be signed."""
    from mockbroker.config.logins import jwks_url

    if jwks_url(cluster.nodes[0].config, listener) is None:
        return
    from mockbroker.server.token_keys import TokenKeysError, read_token_keys
    from mockbroker.server.values import SettingsError

    try:
        await read_token_keys(cluster, listener)
    except TokenKeysError as error:
        key = settings.set_for(listener, f"oauthbearer.{error.key}", error.key)
        raise SettingsError(settings.written_config(key), error.problem, error.allowed) from None


def _admin_tls(cluster: Cluster, settings: Settings) -> SSLContext:
    """What connections of the admin port begin with; a token says who its clients are."""
    from mockbroker.server.tls_listener import TlsListener

    with _naming_store(settings, "admin"):
        return TlsListener(cluster.nodes[0].config, "admin", logs_in=True).lasting_context()


@contextmanager
def _naming_store(settings: Settings, listener: str) -> Iterator[None]:
    """Let a store that cannot be used be told by the config that names it."""
    from mockbroker.server.key_stores import StoreError
    from mockbroker.server.values import SettingsError

    try:
        yield
    except StoreError as error:
        key = settings.set_for(listener, error.key)
        raise SettingsError(settings.written_config(key), error.problem, error.allowed) from None


def _advertise(cluster: Cluster, listener: Listener, index: int, port: int) -> None:
    """Tell clients of a listener of one broker, which is bound to `port`."""
    told = listener.advertised_port_of(index) or port
    cluster.advertise(index, listener.advertised_host, told, listener.name)


def _listener_configs(running: RunningBroker, node: int) -> dict[str, str]:
    """What a properties file of Apache Kafka would say of a node's listeners, as they are now."""
    bound = {name: addresses[node] for name, addresses in running.listeners.items()}
    if running.controller_port is not None:
        name = running.cluster.metadata.config.list("controller.listener.names")[0]
        bound[name] = running.host, running.controller_port
    configs = {"listeners": ",".join(map(_endpoint, bound, bound.values()))}
    advertised = running.advertised(node)
    if any(listener.is_advertised for listener in running.settings.listeners):
        configs["advertised.listeners"] = ",".join(map(_endpoint, advertised, advertised.values()))
    protocols = {each.name: each.protocol.name for each in running.settings.listeners}
    if PROTOCOL_MAP not in running.settings.config and protocols.keys() - set(protocols.values()):
        entries = (f"{name}:{protocols.get(name, DEFAULT_NAME)}" for name in bound)
        configs[PROTOCOL_MAP] = ",".join(entries)
    return configs


def _endpoint(name: str, address: tuple[str, int]) -> str:
    host, port = address
    return f"{name}://[{host}]:{port}" if ":" in host else f"{name}://{host}:{port}"


@contextmanager
def _naming(settings: Settings, listener: Listener) -> Iterator[None]:
    """Let an address that cannot be bound be told as that of its listener."""
    try:
        yield
    except OSError as error:
        if not settings.named_listeners:
            raise
        raise ListenerAddressError(error, listener) from None


def _prepare(cluster: Cluster, preparation: Preparation) -> None:
    """Fill the cluster before its first client."""
    from mockbroker.server.values import SettingsError
    from mockbroker.state.preparation import PreparationError

    try:
        preparation.apply(cluster)
    except PreparationError as error:
        raise SettingsError(error.key, error.problem, error.allowed) from None


async def _act(running: RunningBroker, settings: Settings) -> None:
    """Do to the cluster what the settings want of it once it runs."""
    from functools import partial

    from mockbroker.cluster.actions import perform
    from mockbroker.cluster.node_controls import ControlError
    from mockbroker.server.values import SettingsError

    for action in settings.options["cluster_actions"]:
        try:
            running.act(partial(perform, action))
        except ControlError as error:
            await running.stop()
            option = settings.written("cluster_actions")
            raise SettingsError(
                option, f"{action['action']}: {error}", "what this cluster can do"
            ) from None


async def _start_controller(
    running: RunningBroker, server: ClusterServer, settings: Settings
) -> None:
    """Serve the metadata log on a port of its own."""
    from mockbroker.quorum.registrations import ListenerAddress

    port = settings.options["controller_port"]
    assert port is not None
    config = running.cluster.metadata.config
    name = config.list("controller.listener.names")[0]
    reached_at = _WILDCARDS.get(running.host, running.host)
    brokers = {
        node_id: [
            ListenerAddress(
                each.name,
                each.advertised_host or reached_at,
                each.advertised_port_of(node) or running.listeners[each.name][node][1],
                each.protocol,
            )
            for each in settings.listeners
        ]
        for node, node_id in enumerate(running.broker_ids)
    }

    def bound(port: int) -> None:
        host = settings.listeners[0].advertised_host or reached_at
        running.controller_port = port
        running.act(
            lambda cluster: cluster.start_quorum(ListenerAddress(name, host, port), brokers)
        )

    try:
        await server.start_controller(name, settings.host, port, bound)
    except OSError as error:
        raise ControllerAddressError(error.errno, error.strerror or str(error)) from None
