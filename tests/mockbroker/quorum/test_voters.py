"""Why voters neither come nor go, in the words that Apache Kafka 4.4.0 was seen to say."""

from __future__ import annotations

import pytest

from mockbroker.quorum.voters import refuse_addition, refuse_removal
from mockbroker_protocol.messages.quorum import (
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    VoterListener,
)
from tests.support.metadata_logs import CONTROLLER, QuorumCore

OTHER = bytes(range(16))
OTHER_TEXT = "AAECAwQFBgcICQoLDA0ODw"
LISTENER = VoterListener(CONTROLLER.name, "127.0.0.1", 9093)
ELSEWHERE = VoterListener("X", "127.0.0.1", 1)
STATIC = "because the kraft.version feature is 0"


def addition(
    cluster_id: str | None = None,
    voter_id: int = 7,
    directory_id: bytes = OTHER,
    listeners: tuple[VoterListener, ...] = (LISTENER,),
) -> AddRaftVoterRequest:
    return AddRaftVoterRequest(cluster_id, 1000, voter_id, directory_id, list(listeners))


@pytest.mark.parametrize(
    ("request_", "static", "dynamic"),
    [
        (addition(), (35, STATIC), (7, "is not ready to receive requests")),
        (addition(listeners=(ELSEWHERE, LISTENER)), (35, STATIC), (7, "is not ready")),
        (addition(voter_id=1), (35, STATIC), (126, "is already part of the set of voters")),
        (addition("no"), (104, 'The given id "no" doesn\'t match the cluster id'), None),
        (addition("no", -1), (104, 'The given id "no" doesn\'t match the cluster id'), None),
        (addition(voter_id=-1), (42, "Add voter request didn't include a valid voter"), None),
        (addition(directory_id=bytes(16)), (42, "didn't include a valid voter"), None),
        (
            addition(listeners=(ELSEWHERE,)),
            (42, "(Endpoints(endpoints={ListenerName(X)=127.0.0.1/<unresolved>:1})) for the def"),
            None,
        ),
        (addition(listeners=()), (42, "(Endpoints(endpoints={})) for the default listener"), None),
    ],
)
def test_nobody_joins(
    request_: AddRaftVoterRequest, static: tuple[int, str], dynamic: tuple[int, str] | None
) -> None:
    """Of a wrong request a static quorum says what a dynamic one does."""
    core = QuorumCore()
    for quorum, expected in ((None, static), (core.quorum, dynamic or static)):
        refused = refuse_addition(request_, core.cluster.metadata, quorum)
        assert refused.error == expected[0]
        assert refused.message is not None
        assert expected[1] in refused.message


@pytest.mark.parametrize(
    ("request_", "static", "dynamic"),
    [
        (RemoveRaftVoterRequest(None, 7, OTHER), (35, STATIC), (127, "Cannot remove voter Repl")),
        (RemoveRaftVoterRequest(None, 1, OTHER), (35, STATIC), (127, OTHER_TEXT)),
        (RemoveRaftVoterRequest("", 1, OTHER), (104, 'The given id "" doesn\'t match'), None),
        (RemoveRaftVoterRequest(None, -1, OTHER), (42, "Remove voter request didn't inc"), None),
        (RemoveRaftVoterRequest(None, 1, bytes(16)), (42, "include a valid voter"), None),
    ],
)
def test_nobody_leaves(
    request_: RemoveRaftVoterRequest, static: tuple[int, str], dynamic: tuple[int, str] | None
) -> None:
    core = QuorumCore()
    for quorum, expected in ((None, static), (core.quorum, dynamic or static)):
        refused = refuse_removal(request_, core.cluster.metadata, quorum)
        assert refused.error == expected[0]
        assert refused.message is not None
        assert expected[1] in refused.message


def test_the_only_voter_stays_and_ids_are_told_as_kafka_prints_them() -> None:
    core = QuorumCore()
    own = core.quorum.directory_id
    request = RemoveRaftVoterRequest(core.cluster.metadata.cluster_id, 1, own)
    refused = refuse_removal(request, core.cluster.metadata, core.quorum)
    assert refused.error == 127
    told = refused.message or ""
    assert told.count("ReplicaKey(id=1, directoryId=") == 2
    assert all(len(part.split(")")[0]) == 22 for part in told.split("directoryId=")[1:])


def test_before_the_leader_has_committed_nothing_can_change() -> None:
    core = QuorumCore()
    core.act(core.quorum.hold)
    core.act(core.quorum.begin_epoch)
    store = core.cluster.metadata
    for refused in (
        refuse_addition(addition(), store, core.quorum),
        refuse_removal(RemoveRaftVoterRequest(None, 7, OTHER), store, core.quorum),
    ):
        assert refused.error == 7
        assert "waiting for leader to establish HWM" in (refused.message or "")
