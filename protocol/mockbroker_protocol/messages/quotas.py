"""DescribeClientQuotas and AlterClientQuotas (KIP-546)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, boolean, float64, int8, int16, int32, message, struct


@message(api_key=48)
class DescribeClientQuotasRequest:
    """Ask for the quotas of the entities that match."""

    components: list[ComponentData] = []
    strict: boolean = False


@struct
class ComponentData:
    """What one part of the entity must match: 0 a name, 1 the default, 2 any."""

    entity_type: str = ""
    match_type: int8 = 0
    match: Annotated[str | None, V(nullable=0)] = ""


@message(api_key=48)
class DescribeClientQuotasResponse:
    """The quotas found; None with an error."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""
    entries: Annotated[list[DescribeClientQuotasResponseEntryData] | None, V(nullable=0)] = []


@struct
class DescribeClientQuotasResponseEntryData:
    """An entity and its quotas."""

    entity: list[EntityData] = []
    values: list[ValueData] = []


@struct
class EntityData:
    """A user, client id or address; null is the default of its type."""

    entity_type: str = ""
    entity_name: Annotated[str | None, V(nullable=0)] = ""


@struct
class ValueData:
    """A quota and its value."""

    key: str = ""
    value: float64 = 0.0


@message(api_key=49)
class AlterClientQuotasRequest:
    """Set and remove quotas."""

    entries: list[AlterClientQuotasRequestEntryData] = []
    validate_only: boolean = False


@struct
class AlterClientQuotasRequestEntryData:
    """An entity and the changes to it."""

    entity: list[EntityData] = []
    ops: list[OpData] = []


@struct
class OpData:
    """A quota to set or to remove."""

    key: str = ""
    value: float64 = 0.0
    remove: boolean = False


@message(api_key=49)
class AlterClientQuotasResponse:
    """What became of each entity."""

    throttle_time_ms: int32 = 0
    entries: list[AlterClientQuotasResponseEntryData] = []


@struct
class AlterClientQuotasResponseEntryData:
    """Success or error for one entity."""

    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""
    entity: list[EntityData] = []
