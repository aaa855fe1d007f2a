"""What of the extension anybody uses on a node: who uses none of it pays for one look.

The extension's APIs ask one of these before all else, and hand on to those of `apis` a request
without tagged fields that nothing here concerns. Each is True rather too long than too short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.changes import ConfigsChanged, TopicCreated, TopicDeleted
from mockbroker.metadata.names import INDIVIDUAL_COMMITS_TOPIC

if TYPE_CHECKING:
    from mockbroker.apis.context import Services
    from mockbroker.metadata.changes import Change


class InUse:
    """`look` after anything that it goes by has changed."""

    __slots__ = (
        "_services",
        "advertised",
        "carrier",
        "commits",
        "fetches",
        "filters",
        "follows",
        "groups",
        "leases",
        "sessions",
        "transparent",
    )

    def __init__(self, services: Services) -> None:
        self._services = services
        self.filters = False
        """Somebody registered a filter for clients that send no tagged fields."""
        self.sessions = False
        """A fetch session spoke the extension."""
        self.leases = False
        """Something was handed out to members that fetch cooperatively."""
        self.look()

    def look(self) -> None:
        """See what there is."""
        config = self._services.config
        self.commits = INDIVIDUAL_COMMITS_TOPIC in self._services.metadata.topics
        """There may be commits of ranges: their topic is there."""
        self.follows = self.commits or self.leases
        """What groups write matters here (see `coordinator.group.shard.Companion`)."""
        self.advertised = config.bool("coop.advertise.private.apis")
        """Clients are told of the extension's own APIs."""
        self.carrier = config.bool("coop.metadata.carrier")
        """What a group commits may be said in metadata."""
        self.transparent = bool(config.list("coop.transparent.groups"))
        """There are groups whose members do not know that they share."""
        self.fetches = (
            self.filters
            or self.sessions
            or self.transparent
            or bool(config.list("coop.client.filters"))
        )
        """A fetch without tagged fields may be filtered."""
        self.groups = self.follows or self.transparent or self.carrier
        """What a group commits, or asks for, without tagged fields may have to do with ranges."""

    def note_session(self) -> None:
        """A fetch session may speak the extension from now on."""
        self.sessions = self.fetches = True

    def changed(self, change: Change) -> None:
        """The metadata or the configs did."""
        if isinstance(change, ConfigsChanged) or (
            isinstance(change, TopicCreated | TopicDeleted)
            and change.name == INDIVIDUAL_COMMITS_TOPIC
        ):
            self.look()

    def forget(self) -> None:
        """What is in memory alone is forgotten."""
        self.filters = self.leases = False
        self.look()
