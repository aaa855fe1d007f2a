"""Links of the simulated cluster, probed: what is sent later does not arrive before.

When a link's delay changes while something is on its way there, a message is sent after it, which
must not overtake it. It arrives no later than what was there, so a run is hardly another with it.
What is on its way when a link is cut never arrives: a message is sent right before.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.cluster.links.link import Link
    from simulation.cluster.steps import Verbs
    from simulation.cluster.world import ClusterWorld


class LinkProbes:
    """Sends the messages."""

    def __init__(self, world: ClusterWorld, verbs: Verbs) -> None:
        self._world = world
        self.sent = self.lost = 0
        """Messages that must arrive in time, and that must not arrive."""
        verbs.add("cut_link", self._cut)
        verbs.add("slow_link", self._slow)
        verbs.add("restore_link", self._restore)

    def _slow(self, source: int, target: int, delay_ms: float) -> None:
        self._world.controls.slow_link(source, target, delay_ms)
        self._probe(self._world.peers.links.get(source, target))

    def _restore(self, source: int, target: int) -> None:
        self._world.controls.restore_link(source, target)
        self._probe(self._world.peers.links.get(source, target))

    def _cut(self, source: int, target: int) -> None:
        link = self._world.peers.links.get(source, target)
        if link.open:
            delay_ms = link.delay_ms
            link.slow(max(delay_ms, 1.0))
            link.send(partial(self._came, link, self._world.now_ms))
            link.slow(delay_ms)
            self.lost += 1
        self._world.controls.cut_link(source, target)

    def _came(self, link: Link, cut_ms: float) -> None:
        self._world.violate(
            f"what was on its way from {link.source} to {link.target} has arrived, and the link "
            f"was cut at {cut_ms:.3f}"
        )

    def _probe(self, link: Link) -> None:
        if link.steady_delay_ms is None and link.open:  # something is on its way
            due_ms = self._world.peers.links.latest_ms[link]
            link.send(partial(self._arrived, link, due_ms))
            self.sent += 1

    def _arrived(self, link: Link, due_ms: float) -> None:
        now_ms = self._world.now_ms
        if now_ms < due_ms:
            self._world.violate(
                f"a message from {link.source} to {link.target} arrived at {now_ms:.3f}, before"
                f" one that was sent earlier and is due at {due_ms:.3f}"
            )
