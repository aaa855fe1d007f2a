"""What a child made by `os.fork` does with the brokers of its parent: nothing, and it says so.

A child has a copy of each broker but no thread that runs it, and it has the broker's sockets open:
one that its parent stops would keep its port, and its clients would wait for ever. So the child
lets go of these sockets, and each call on its copy is refused. It connects to the broker by its
address, as any other process does. `Bridge` calls `watch`; multiprocessing, gunicorn with
preloading and Celery's prefork pool come by here too.
"""

from __future__ import annotations

import os
import socket
import stat
from functools import cache
from typing import Protocol
from weakref import WeakSet

__tracebackhide__ = True

_DESCRIPTORS = "/dev/fd"


class Bridge(Protocol):
    """What is watched: `bridge.Bridge`."""

    def ports(self) -> set[int]:
        """Those that its broker listens on."""

    def leave_to(self, parent: int) -> None:
        """This is a copy; the broker lives in the process `parent`."""


class _Watched:
    """The bridges of this process, of brokers that run."""

    def __init__(self) -> None:
        self.bridges: WeakSet[Bridge] = WeakSet()
        self._pid = os.getpid()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)

    def _in_child(self) -> None:
        bridges, self.bridges = list(self.bridges), WeakSet()
        parent, self._pid = self._pid, os.getpid()
        _let_go({port for bridge in bridges for port in bridge.ports()})
        for bridge in bridges:
            bridge.leave_to(parent)


@cache
def _watched() -> _Watched:
    return _Watched()


def watch(bridge: Bridge) -> None:
    """Let children that are forked from now on know that the broker is not theirs."""
    _watched().bridges.add(bridge)


def unwatch(bridge: Bridge) -> None:
    """The broker has stopped."""
    _watched().bridges.discard(bridge)


def _let_go(ports: set[int]) -> None:
    """Close the sockets of these ports, listening ones and those of clients.

    They lead to the null device then, because the objects that own them may close them again.
    """
    if not ports:
        return
    null = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir(_DESCRIPTORS):
        descriptor = int(name)
        if descriptor != null and _port_of(descriptor) in ports:
            os.dup2(null, descriptor, inheritable=False)
    os.close(null)


def _port_of(descriptor: int) -> int | None:
    """The port that a socket of TCP is bound to."""
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            return None
    except OSError:  # that of the listing itself, which has ended
        return None
    sock = socket.socket(fileno=descriptor)
    try:
        if sock.family not in (socket.AF_INET, socket.AF_INET6) or sock.type != socket.SOCK_STREAM:
            return None
        port: int = sock.getsockname()[1]
    except OSError:
        return None
    finally:
        sock.detach()
    return port
