"""What all routes share."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from mockbroker.admin.deps import Body


class Named(Body):
    """An example."""

    name: str


def test_a_field_that_is_not_known_is_an_error() -> None:
    assert Named.model_validate({"name": "a"}).name == "a"
    with pytest.raises(ValidationError, match="colour"):
        Named.model_validate({"name": "a", "colour": 1})
