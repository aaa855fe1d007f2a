from __future__ import annotations

import pytest

from mockbroker.quorum.registrations import ListenerAddress, Registration
from mockbroker_protocol.messages.metadata_records import (
    RegisterBrokerRecord,
    RegisteredEndpoint,
    RegisteredFeature,
)


@pytest.mark.parametrize("fenced", [True, False])
def test_a_registration_as_a_record(fenced: bool) -> None:
    registration = Registration(
        2,
        b"i" * 16,
        (ListenerAddress("PLAINTEXT", "here", 9092), ListenerAddress("S", "there", 9093, 3)),
        {"metadata.version": (7, 27)},
        (b"d" * 16,),
        "rack",
        42,
    )
    assert registration.record(fenced=fenced) == RegisterBrokerRecord(
        2,
        incarnation_id=b"i" * 16,
        broker_epoch=42,
        end_points=[
            RegisteredEndpoint("PLAINTEXT", "here", 9092, 0),
            RegisteredEndpoint("S", "there", 9093, 3),
        ],
        features=[RegisteredFeature("metadata.version", 7, 27)],
        rack="rack",
        fenced=fenced,
        log_dirs=[b"d" * 16],
    )
