"""One message for all versions of its API: each version sends what it can carry of it."""

from __future__ import annotations

from copy import copy
from typing import Any

from mockbroker_protocol.schema import is_declared
from mockbroker_protocol.schema_fields import fields_of


def fitted(message: Any, version: int) -> Any:
    """A copy with the default in each field that the version lacks, or where it has no null."""
    fit = copy(message)
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        if not field.present(version) or (value is None and not field.is_nullable(version)):
            fresh = field.fresh_default()
            value = fresh() if fresh is not None else field.default
        elif isinstance(value, list) and field.name != "records":
            value = [fitted(item, version) if is_declared(type(item)) else item for item in value]
        elif is_declared(type(value)):
            value = fitted(value, version)
        setattr(fit, field.name, value)
    return fit
