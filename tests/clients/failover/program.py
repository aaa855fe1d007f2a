"""A client in a program of its own: words on its standard input, what happens as lines of JSON.

["acknowledged", number, partition, offset], ["refused", number, why], ["paused"] once all that was
sent is answered, ["read", member, partition, offset, number], ["committing", {partition: end}]
before and ["committed", {partition: end}] after, ["left", member], ["failed", why].
"""

from __future__ import annotations

import json
import subprocess
import threading
from typing import TYPE_CHECKING, Any

from mockbroker.testing.mock_broker import MockBroker
from tests.clients.failover.ledger import DEADLINE_S, Ledger
from tests.clients.failover.scenarios import Run
from tests.clients.server import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def play(
    scenario: Callable[[Run], None],
    command: Callable[[str], Sequence[str]],
    *,
    resumes_at_divergence: bool = True,
    outlives_truncation: bool = True,
    leaves_dead_coordinator: bool = True,
) -> None:
    """One scenario on a cluster of its own, with the program of `command(bootstrap_servers)`."""
    ledger = Ledger()
    with MockBroker(brokers=3, seed=1, auto_create=False) as cluster:
        client = Program(command(cluster.bootstrap_servers), ledger)
        try:
            flags = resumes_at_divergence, outlives_truncation, leaves_dead_coordinator
            scenario(Run(cluster, client, ledger, *flags))
        finally:
            client.close()


class Program:
    """`scenarios.Client`. Ends with `close`."""

    def __init__(self, command: Sequence[str], ledger: Ledger) -> None:
        self.ledger = ledger
        self.pauses = 0
        self.left: set[int] = set()
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def produce(self) -> None:
        self._say("produce")

    def pause(self) -> None:
        pauses = self.pauses
        self._say("pause")
        self.ledger.wait_for(lambda: self.pauses > pauses, "pausing")

    def join(self, member: int) -> None:
        self._say(f"join {member}")

    def leave(self, member: int) -> None:
        self._say(f"leave {member}")

    def wait_left(self, members: int) -> None:
        self.ledger.wait_for(lambda: len(self.left) == members, f"leaving of {members} members")

    def close(self) -> None:
        """Whatever state it is in."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(DEADLINE_S)
        finally:
            self.process.kill()
            self.listener.join(DEADLINE_S)
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process.wait(DEADLINE_S)

    def _say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            kind, *what = json.loads(line)
            self._hear(kind, what)
        self.ledger.fail("the program has ended")

    def _hear(self, kind: str, what: list[Any]) -> None:
        ledger = self.ledger
        match kind:
            case "acknowledged":
                ledger.acknowledge(*what)
            case "refused":
                ledger.refuse(*what)
            case "read":
                ledger.read(*what)
            case "committing":
                ledger.try_commit({int(part): end for part, end in what[0].items()})
            case "committed":
                ledger.committed({int(part): end for part, end in what[0].items()})
            case "paused":
                with ledger.changed:
                    self.pauses += 1
                    ledger.changed.notify_all()
            case "left":
                with ledger.changed:
                    self.left.add(what[0])
                    ledger.changed.notify_all()
            case _:
                ledger.fail(f"{kind}: {what}")
