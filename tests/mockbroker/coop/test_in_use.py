"""Who uses none of the extension is let through at once; who uses some of it never is."""

from __future__ import annotations

import pytest

from mockbroker.coop.extension import Cooperation, extension_of
from mockbroker.metadata.changes import ConfigsChanged
from mockbroker.metadata.names import INDIVIDUAL_COMMITS_TOPIC
from mockbroker.metadata.topic_requests import NewTopic, TopicReference
from tests.support.core import Core

BROKER = 4


def extended(**config: str) -> tuple[Core, Cooperation]:
    named = {name.replace("_", "."): text for name, text in config.items()}
    core = Core(topics={"t": 1}, config={"coop.extension.enable": "true", **named})
    return core, extension_of(core.broker.services)


def said(extension: Cooperation) -> set[str]:
    flags = ("advertised", "commits", "fetches", "follows", "groups", "transparent")
    return {name for name in flags if getattr(extension.in_use, name)}


def test_nobody_uses_anything_at_first() -> None:
    assert said(extended()[1]) == set()


@pytest.mark.parametrize(
    ("config", "value", "flags"),
    [
        ("coop.advertise.private.apis", "true", {"advertised"}),
        ("coop.client.filters", "me=t-0:0-9", {"fetches"}),
        ("coop.metadata.carrier", "true", {"groups"}),
        ("coop.transparent.groups", "g", {"fetches", "groups", "transparent"}),
    ],
)
def test_a_config_counts_from_the_start_and_when_it_is_altered(
    config: str, value: str, flags: set[str]
) -> None:
    assert said(extended(**{config.replace(".", "_"): value})[1]) == flags
    core, extension = extended()
    core.cluster.metadata.apply(ConfigsChanged(BROKER, "", {config: value}))
    assert said(extension) == flags
    core.cluster.metadata.apply(ConfigsChanged(BROKER, "", {}))
    assert said(extension) == set()


def test_the_topic_of_ranges_counts_while_it_is_there() -> None:
    core, extension = extended()
    core.cluster.controller.create_topics([NewTopic(INDIVIDUAL_COMMITS_TOPIC, 1)])
    assert said(extension) == {"commits", "follows", "groups"}
    core.cluster.controller.delete_topics([TopicReference(INDIVIDUAL_COMMITS_TOPIC)])
    assert said(extension) == set()


def test_what_is_in_memory_counts_until_it_is_forgotten() -> None:
    _, extension = extended()
    extension.in_use.leases = extension.in_use.filters = True
    extension.in_use.look()
    assert said(extension) == {"fetches", "follows", "groups"}
    extension.forget()
    assert said(extension) == set()


def test_sessions_count_for_good() -> None:
    """A session that speaks outlives a scope."""
    _, extension = extended()
    extension.in_use.note_session()
    extension.forget()
    assert said(extension) == {"fetches"}
