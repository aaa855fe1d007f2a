"""Voters and brokers that are to go or come; the last steps leave a cluster without brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.messages.metadata import MetadataRequest
from mockbroker_protocol.messages.quorum import (
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    UnregisterBrokerRequest,
    UnregisterControllerRequest,
    VoterListener,
)
from mockbroker_protocol.messages.topics import CreatableTopic, CreateTopicsRequest
from tests.differential.steps import ask

if TYPE_CHECKING:
    from tests.differential.steps import Known, Step

VOTER = bytes(range(16))
NOBODY = bytes(16)
GOOD = VoterListener("CONTROLLER", "127.0.0.1", 9093)
OTHER = VoterListener("X", "localhost", 1)


def quorum_steps() -> list[Step]:
    """To a static quorum of node 1, which is broker and controller."""
    ways = [
        (None, 7, VOTER, [GOOD]), ("", 7, VOTER, [GOOD]), ("other", -1, NOBODY, []),
        (None, -1, VOTER, [GOOD]), (None, 7, NOBODY, [GOOD]), (None, 1, VOTER, [GOOD]),
        (None, 7, VOTER, []), (None, 7, VOTER, [OTHER]), (None, 7, VOTER, [OTHER, GOOD]),
    ]  # fmt: skip
    told: list[Step] = []
    for cluster_id, node, directory, listeners in ways:
        way = f"cluster {cluster_id!r}, voter {node}, {len(listeners)} listeners"
        addition = AddRaftVoterRequest(cluster_id, 500, node, directory, listeners)
        removal = RemoveRaftVoterRequest(cluster_id, node, directory)
        told += ask(f"AddRaftVoter {way}", (0, 1), addition)
        told += ask(f"RemoveRaftVoter {way}", 0, removal)
    for node in (99, 0, -1, 2**31 - 1):
        told += ask(f"UnregisterBroker {node}", 0, UnregisterBrokerRequest(node))
        told += ask(f"UnregisterController {node}", 0, UnregisterControllerRequest(node))
    own = addition_of_this_cluster
    return [
        *told,
        *ask("UnregisterController itself", 0, UnregisterControllerRequest(1)),
        *ask("Metadata for the cluster's id", 9, MetadataRequest([]), learn=learn_cluster),
        *ask("AddRaftVoter to this cluster", (0, 1), own),
        *ask("RemoveRaftVoter from this cluster", 0, lambda known: RemoveRaftVoterRequest(
            known["cluster"], 1, VOTER)),
    ]  # fmt: skip


def last_steps() -> list[Step]:
    """The only broker is forgotten: it answers, and has nothing more to offer."""
    return [
        *ask("UnregisterBroker itself", 0, UnregisterBrokerRequest(1)),
        *ask("UnregisterBroker itself again", 0, UnregisterBrokerRequest(1)),
        *ask("Metadata without brokers", 12, MetadataRequest([]),
             until=lambda answer: not answer.brokers),
        *ask("CreateTopics without brokers", 7,
             CreateTopicsRequest([CreatableTopic("too-late", 1, 1)], 1000)),
    ]  # fmt: skip


def learn_cluster(known: Known, answer: object) -> None:
    known["cluster"] = answer.cluster_id  # type: ignore[attr-defined]  # a MetadataResponse


def addition_of_this_cluster(known: Known) -> AddRaftVoterRequest:
    return AddRaftVoterRequest(known["cluster"], 500, 7, VOTER, [GOOD])
