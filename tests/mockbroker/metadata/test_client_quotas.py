"""What may be a quota, and which quotas a filter finds."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.client_quotas import (
    DEFAULT,
    EXACT,
    SPECIFIED,
    Component,
    QuotaAlteration,
    alter_client_quotas,
    filter_problem,
    matching,
)
from mockbroker.metadata.store import MetadataStore
from mockbroker_protocol.errors import ErrorCode

PRODUCE = "producer_byte_rate"
Names = list[tuple[str, str | None]]
Ops = list[tuple[str, float | None]]


@pytest.fixture
def store() -> MetadataStore:
    return MetadataStore("cluster", BrokerConfig())


def alter(store: MetadataStore, entity: Names, ops: Ops, *, validate: bool = False) -> str | None:
    alteration = QuotaAlteration(entity, ops)
    (answer,) = alter_client_quotas(store, [alteration], validate_only=validate).values()
    assert (answer.error is ErrorCode.NONE) == (answer.message is None)
    return answer.message


def test_quotas_are_set_and_removed(store: MetadataStore) -> None:
    entity: Names = [("user", "u"), ("client-id", None)]
    kept = (("client-id", None), ("user", "u"))
    assert alter(store, entity, [(PRODUCE, 5.0), ("request_percentage", 0.5)]) is None
    assert store.client_quotas == {kept: {PRODUCE: 5.0, "request_percentage": 0.5}}
    alter(store, entity, [(PRODUCE, None), ("nope", None)])
    assert store.client_quotas == {kept: {"request_percentage": 0.5}}
    alter(store, entity, [("request_percentage", None)])
    assert store.client_quotas == {}


def test_validation_changes_nothing(store: MetadataStore) -> None:
    assert alter(store, [("user", "u")], [(PRODUCE, 5.0)], validate=True) is None
    assert store.client_quotas == {}


def test_the_first_of_two_counts(store: MetadataStore) -> None:
    twice = [QuotaAlteration([("user", "u")], [(PRODUCE, rate)]) for rate in (1.0, 2.0)]
    (answer,) = alter_client_quotas(store, twice, validate_only=False).values()
    assert answer.error is ErrorCode.INVALID_REQUEST
    assert store.client_quotas == {(("user", "u"),): {PRODUCE: 1.0}}


@pytest.mark.parametrize(
    ("entity", "key", "value", "problem"),
    [
        ([], PRODUCE, 1.0, "Invalid empty client quota entity"),
        ([("foo", "x")], PRODUCE, 1.0, "Unhandled client quota entity type: foo"),
        ([("user", "")], PRODUCE, 1.0, "Empty user not supported"),
        ([("ip", "::1"), ("user", "u")], PRODUCE, 1.0, "Invalid quota entity combination"),
        ([("ip", "no ip")], "connection_creation_rate", 1.0, "not a valid IP"),
        ([("ip", None)], PRODUCE, 1.0, "Invalid configuration key"),
        ([("user", "u")], "connection_creation_rate", 1.0, "Invalid configuration key"),
        ([("user", "u")], PRODUCE, 0.0, "must be greater than 0"),
        ([("user", "u")], PRODUCE, 1.5, "cannot be a fractional value"),
        ([("user", "u")], PRODUCE, 1e19, "too large for a LONG"),
        ([("ip", None)], "connection_creation_rate", 1e10, "too large for a INT"),
        ([("user", "u")], "request_percentage", float("nan"), "must be a finite number"),
    ],
)
def test_what_is_no_quota(
    store: MetadataStore, entity: Names, key: str, value: float, problem: str
) -> None:
    assert problem in (alter(store, entity, [(key, value)]) or "")
    assert store.client_quotas == {}


def test_filters_find_what_fits() -> None:
    quotas = {
        (("user", "u"),): {PRODUCE: 1.0},
        (("user", None),): {PRODUCE: 2.0},
        (("client-id", "c"), ("user", "u")): {PRODUCE: 3.0},
        (("ip", None),): {"connection_creation_rate": 4.0},
    }

    def found(*components: Component, strict: bool = False) -> list[float]:
        entries = matching(quotas, components, strict=strict)
        return [value for _, values in entries for value in values.values()]

    user = Component("user", SPECIFIED, None)
    assert found() == [1, 2, 3, 4]
    assert found(strict=True) == []
    assert found(user) == [1, 2, 3]
    assert found(user, strict=True) == [1, 2]
    assert found(Component("user", EXACT, "u")) == [1, 3]
    assert found(Component("user", DEFAULT, None)) == [2]
    assert found(user, Component("client-id", EXACT, "c")) == [3]


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([Component("", EXACT, "x")], 42),
        ([Component("foo", EXACT, "x")], 35),
        ([Component("user", EXACT, None)], 42),
        ([Component("user", DEFAULT, "x")], 42),
        ([Component("user", SPECIFIED, "x")], 42),
        ([Component("user", 3, None)], 42),
        ([Component("user", EXACT, "x")] * 2, 42),
        ([Component("user", EXACT, "x"), Component("ip", DEFAULT, None)], 42),
        ([Component("user", EXACT, "x"), Component("client-id", DEFAULT, None)], None),
    ],
)
def test_what_is_no_filter(components: list[Component], error: int | None) -> None:
    problem = filter_problem(components)
    assert (None if problem is None else problem.error) == error
