"""Client quotas as the metadata keep them: who, what, how much (KIP-546).

`Controller` changes them for AlterClientQuotas, DescribeClientQuotas filters them, and
`security.quotas` goes by them (Kafka: ClientQuotaControlManager). An entity is a tuple of
(type, name) in the order of the types; a name of None is the default of its type.

Invariant: an entity without quotas is not kept.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.metadata.changes import ClientQuotasChanged
from mockbroker.metadata.topic_requests import ACCEPTED, Refusal, invalid_request
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mockbroker.metadata.changes import Entity
    from mockbroker.metadata.store import MetadataStore

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
ENTITY_TYPES: Final = (USER, CLIENT_ID, IP)

_WHOLE_NUMBERS: Final = frozenset({"producer_byte_rate", "consumer_byte_rate"})
_CLIENT_KEYS: Final = (*sorted(_WHOLE_NUMBERS), "request_percentage", "controller_mutation_rate")
_IP_KEY: Final = "connection_creation_rate"
_LONG_LIMIT: Final = float(2**63)
_INT_LIMIT: Final = float(2**31)


class QuotaAlteration(NamedTuple):
    """An entity as it came, and (key, value or None to remove) for it."""

    entity: Sequence[tuple[str, str | None]]
    ops: Sequence[tuple[str, float | None]]


class Component(NamedTuple):
    """What one type of an entity must be: 0 of that name, 1 the default, 2 any."""

    type: str
    match_type: int
    match: str | None


EXACT, DEFAULT, SPECIFIED = range(3)


def alter_client_quotas(
    store: MetadataStore, alterations: Sequence[QuotaAlteration], *, validate_only: bool
) -> dict[Entity, Refusal]:
    """Carry out each alteration that passes; an entity that comes twice keeps the first."""
    answers: dict[Entity, Refusal] = {}
    for alteration in alterations:
        entity: Entity = tuple(sorted(dict(alteration.entity).items()))
        if entity in answers:
            answers[entity] = invalid_request(f"Ignoring duplicate entity {_shown(entity)}")
            continue
        problem = quota_problem(entity, alteration.ops)
        if problem is not None:
            answers[entity] = invalid_request(problem)
            continue
        answers[entity] = ACCEPTED
        if validate_only:
            continue
        values = dict(store.client_quotas.get(entity, {}))
        for key, value in alteration.ops:
            if value is None:
                values.pop(key, None)
            else:
                values[key] = value
        store.apply(ClientQuotasChanged(entity, values))
    return answers


def replace_client_quotas(
    store: MetadataStore, wanted: Mapping[Entity, Mapping[str, float]]
) -> None:
    """Give these entities these quotas; one that is not named keeps what it has."""
    for entity, values in wanted.items():
        if store.client_quotas.get(entity, {}) != values:
            store.apply(ClientQuotasChanged(entity, values))


def matching(
    quotas: Mapping[Entity, Mapping[str, float]], components: Sequence[Component], *, strict: bool
) -> Iterator[tuple[Entity, Mapping[str, float]]]:
    """The entities that each component fits; `strict`: and that have no other types."""
    for entity, values in quotas.items():
        named = dict(entity)
        if strict and len(named) != len(components):
            continue
        if all(each.type in named and _fits(each, named[each.type]) for each in components):
            yield entity, values


def filter_problem(components: Sequence[Component]) -> Refusal | None:
    """What is wrong with a filter (ClientQuotasImage.describe)."""
    seen: set[str] = set()
    for each in components:
        if not each.type:
            return invalid_request("Invalid empty entity type.")
        if each.type in seen:
            return invalid_request(
                f"Entity type {each.type} cannot appear more than once in the filter."
            )
        if each.type not in ENTITY_TYPES:
            message = f"Unsupported entity type {each.type}"
            return Refusal(ErrorCode.UNSUPPORTED_VERSION, message)
        problem = _match_problem(each)
        if problem is not None:
            return invalid_request(problem)
        seen.add(each.type)
    if IP in seen and len(seen) > 1:
        return invalid_request(
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component."
        )
    return None


def _match_problem(component: Component) -> str | None:
    names = {EXACT: "EXACT", DEFAULT: "DEFAULT", SPECIFIED: "SPECIFIED"}
    name = names.get(component.match_type)
    if name is None:
        return f"Unknown match type {component.match_type}"
    if component.match_type == EXACT:
        if component.match is None:
            return "Request specified MATCH_TYPE_EXACT, but set match string to null."
    elif component.match is not None:
        return f"Request specified MATCH_TYPE_{name}, but also specified a match string."
    return None


def _fits(component: Component, name: str | None) -> bool:
    if component.match_type == EXACT:
        return name == component.match
    return component.match_type == SPECIFIED or name is None


def quota_problem(entity: Entity, ops: Sequence[tuple[str, float | None]]) -> str | None:
    """Why these may not be an entity's quotas; the order is Kafka's."""
    if not entity:
        return "Invalid empty client quota entity"
    types = {kind for kind, _ in entity}
    for kind, name in entity:
        if kind not in ENTITY_TYPES:
            return f"Unhandled client quota entity type: {kind}"
        if name == "":
            return f"Empty {kind} not supported"
    if IP in types and len(types) > 1:
        return (
            "Invalid quota entity combination, IP entity shouldnot be combined with User or "
            "ClientId"
        )
    address = dict(entity).get(IP)
    if address is not None and not _is_address(address):
        return f"{address} is not a valid IP or resolvable host."
    keys = (_IP_KEY,) if IP in types else _CLIENT_KEYS
    for key, value in ops:
        problem = None if value is None else _value_problem(key, value, keys)
        if problem is not None:
            return problem
    named = [key for key, _ in ops]
    if len(set(named)) < len(named):
        return f"Ignoring duplicate entity {_shown(entity)}"
    return None


def _value_problem(key: str, value: float, keys: Sequence[str]) -> str | None:
    if key not in keys:
        return f"Invalid configuration key {key}"
    if not isfinite(value):
        return f"Quota {key} must be a finite number"
    if value <= 0:
        return f"Quota {key} must be greater than 0"
    if key in _WHOLE_NUMBERS or key == _IP_KEY:
        if not value.is_integer():
            return f"{key} cannot be a fractional value."
        kind, limit = ("INT", _INT_LIMIT) if key == _IP_KEY else ("LONG", _LONG_LIMIT)
        if value >= limit:
            return f"Proposed value for {key} is too large for a {kind}."
    return None


def _is_address(text: str) -> bool:
    """An address, or the one name that can be resolved without a network."""
    from ipaddress import ip_address

    if text == "localhost":
        return True
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _shown(entity: Entity) -> str:
    names = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{names}}})"
