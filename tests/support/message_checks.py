"""What holds for every declared message: it survives a round trip, and kio reads the same in it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from hypothesis import HealthCheck, given, settings

from mockbroker_protocol import plan
from mockbroker_protocol.schema import is_declared, schema_of
from tests.support import kio_bridge
from tests.support.messages import strategy_for

EXAMPLES = 4


def versions_of(module: ModuleType) -> list[tuple[type, int]]:
    """Each message of a module of `mockbroker_protocol.messages`, with each version that it has."""
    own = module.__name__, f"{module.__name__}_classes"
    return [
        (cls, version)
        for cls in vars(module).values()
        if is_declared(cls) and cls.__module__ in own and schema_of(cls).is_message
        for version in range(schema_of(cls).min_version, schema_of(cls).max_version + 1)
    ]


def check_message(cls: type, version: int) -> None:
    """The plan round-trips any value of this version; where kio knows it, kio agrees."""
    kio = kio_bridge.kio_class(cls, version)

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(strategy_for(cls, version))
    def check(message: object) -> None:
        check_round_trip(message, version)
        if kio is not None:
            kio_bridge.make_kio_safe(message, kio)
            check_against_kio(message, version, kio)

    check()


def check_round_trip(message: object, version: int) -> bytes:
    again: object
    body = b"".join(plan.encode(message, version))
    again, end = plan.decode(type(message), version, body)
    assert again == message
    assert end == len(body)
    assert b"".join(plan.encode(again, version)) == body
    return body


def check_against_kio(message: object, version: int, kio: Any) -> None:
    body = check_round_trip(message, version)
    theirs, size = kio_bridge.read(kio, body)
    assert size == len(body)
    assert list(kio_bridge.disagreements(message, theirs)) == []
    assert kio_bridge.write(kio, theirs) == body
