"""The process: one broker served until a signal ends it. Called by `cli`.

Starts the listener, prints the ready line, writes the ready file whole, and on SIGTERM or SIGINT
answers what is parked and exits. Nothing heavy is imported before clients may connect.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from typing import TYPE_CHECKING, Final

from mockbroker.server.event_log import EventLog
from mockbroker.server.launch import (
    ControllerAddressError,
    ListenerAddressError,
    launch,
    new_event_loop,
)
from mockbroker.server.streams import open_closed, write_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.server.launch import RunningBroker
    from mockbroker.server.settings import Settings


QUIET_SECONDS: Final = 0.5
"""How long after it is ready a broker imports what it will need later."""
READ_AHEAD: Final = "cramjam"
"""The package whose native library is read then, and loaded with the first compressed batch: that
takes a millisecond, and memory that a broker without such batches has no use for."""
WARMED_UP: Final = (
    "mockbroker_protocol.records.compression",
    "mockbroker_protocol.messages.catalog",
    "mockbroker_protocol.plan_decode",
    "mockbroker_protocol.plan_encode",
    "mockbroker.node.large_requests",
)
_PIECE_BYTES: Final = 1 << 16


class ServeError(Exception):
    """The broker could not start: one line for the user."""


def serve(settings: Settings, ignored: Sequence[str] = ()) -> None:
    """Serve until SIGTERM or SIGINT. Raises ServeError or ConfigError before it is ready.

    `ignored` are the environment variables to warn of, because they mean nothing here.
    """
    options = settings.options
    closed = open_closed()
    event_log = EventLog(options["log_level"], options["log_format"])
    for variable in ignored:
        event_log.warn("an environment variable is ignored", variable=variable)
    loop = new_event_loop()
    try:
        loop.run_until_complete(_serve(settings, event_log, "stdout" in closed))
    finally:
        loop.close()


async def _serve(settings: Settings, event_log: EventLog, is_mute: bool) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    try:
        running = await launch(settings)
    except OSError as error:
        raise ServeError(_cannot_bind(settings, error)) from None
    except ValueError as error:
        from mockbroker.faults import FaultError

        if not isinstance(error, FaultError):
            raise
        raise ServeError(f"{settings.written('faults')}: {error}") from None
    event_log.follow(running.journal, running.cluster.metadata)
    _relax_collector()
    try:
        problem = write_line(_publish(running, settings.options["ready_file"]))
        if is_mute or problem is not None:
            reason = "it is closed" if problem is None else (problem.strerror or "").lower()
            event_log.warn("standard output cannot be written: no ready line", reason=reason)
        loop.call_later(QUIET_SECONDS, warm_up)
        await stopped.wait()
        if settings.options["snapshot"] is not None:
            _save(running, settings.options["snapshot"])
    finally:
        await running.stop()
        event_log.tell_refusals(now=True)


def _save(running: RunningBroker, path: str) -> None:
    """Write what the broker holds to a file."""
    from mockbroker.state.snapshot import take
    from mockbroker.state.snapshot_file import SnapshotError, save

    try:
        save(running.act(take), path)
    except SnapshotError as error:
        raise ServeError(f"--snapshot {error}; allowed: a path in a writable directory") from None


def warm_up() -> None:
    """Import in a thread what the first large request or compressed batch would wait for.

    The file of a native library is read only: the loop would wait for a disk while it is loaded.
    """
    from threading import Thread

    def read_and_import() -> None:
        from importlib import import_module
        from importlib.util import find_spec
        from pathlib import Path

        piece = bytearray(_PIECE_BYTES)
        found = find_spec(READ_AHEAD)
        for folder in (found and found.submodule_search_locations) or ():
            for path in filter(Path.is_file, Path(folder).iterdir()):
                with path.open("rb", buffering=0) as file:
                    while file.readinto(piece):
                        pass
        for name in WARMED_UP:
            import_module(name)

    Thread(target=read_and_import, name="mockbroker-warm-up", daemon=True).start()


def _relax_collector() -> None:
    """Requests leave no cycles behind, and a log of many partitions is costly to walk for some.

    The young are few enough to be walked in some milliseconds, even while a large request is read.
    """
    gc.freeze()
    gc.set_threshold(20_000, 4, 600)
    gc.enable()


def _cannot_bind(settings: Settings, error: OSError) -> str:
    reason = error.strerror or str(error)
    option, ports = "--port", ",".join(map(str, settings.ports))
    if isinstance(error, ControllerAddressError):
        option, ports = "--controller-port", str(settings.options["controller_port"])
    if isinstance(error, ListenerAddressError):
        listener = error.listener
        ports = ",".join(map(str, listener.ports))
        return (
            f"{settings.listener_option}: {listener.name} cannot listen on"
            f" {listener.host}:{ports} ({reason.lower()});"
            " allowed: a free port of an address of this host, or 0 for any free port"
        )
    return (
        f"--host {settings.host} {option} {ports}: cannot listen there ({reason.lower()});"
        f" allowed: a free port of an address of this host, or {option} 0 for any free port"
    )


def _publish(running: RunningBroker, ready_file: str | None) -> str:
    """Write the ready file; the ready line."""
    facts: dict[str, object] = {
        "bootstrap": running.bootstrap_servers,
        "brokers": [
            {"id": node_id, "host": host, "port": port}
            for node, node_id in enumerate(running.broker_ids)
            for host, port in [next(iter(running.advertised(node).values()))]
        ],
        "cluster_id": running.cluster_id,
        "pid": os.getpid(),
    }
    if len(running.listeners) > 1:
        facts["listeners"] = running.bootstrap_by_listener
    if running.tls is not None:
        facts["tls"] = {
            "folder": str(running.tls.folder),
            "ca": running.tls.ca_file,
            "clients": running.tls.clients,
        }
    if running.controller_servers is not None:
        facts["controller"] = running.controller_servers
    if running.admin_url is not None:
        facts["admin"] = running.admin_url
    if ready_file is not None:
        import json

        try:
            write_whole(ready_file, json.dumps(facts) + "\n")
        except OSError as error:
            reason = error.strerror or str(error)
            message = f"--ready-file {ready_file}: cannot be written ({reason.lower()})"
            raise ServeError(f"{message}; allowed: a path in a writable directory") from None
    admin = "" if running.admin_url is None else f" admin={running.admin_url}"
    return (
        f"mockbroker ready bootstrap={running.bootstrap_servers}"
        f" cluster_id={running.cluster_id} pid={os.getpid()}{admin}"
    )


def write_whole(path: str, text: str) -> None:
    """Write a file so that a reader sees nothing of it, or all. Raises OSError."""
    draft = f"{path}.{os.getpid()}.tmp"
    try:
        with open(draft, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(draft, path)
    except OSError:
        if os.path.exists(draft):
            os.unlink(draft)
        raise
