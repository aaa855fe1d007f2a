"""What all routes share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from mockbroker.admin.deps import Body

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


class Named(Body):
    """An example."""

    name: str


def test_a_field_that_is_not_known_is_an_error() -> None:
    assert Named.model_validate({"name": "a"}).name == "a"
    with pytest.raises(ValidationError, match="colour"):
        Named.model_validate({"name": "a", "colour": 1})


@pytest.mark.parametrize(
    ("path", "field", "allowed"),
    [
        ("/v1/topics?prefx=a", "prefx", "prefix"),
        ("/v1/journal?topics=a&limit=1", "topics", "topic"),
        ("/v1/clock?x=1", "x", "none"),
        ("/metrics?x=1", "x", "none"),
    ],
)
def test_a_parameter_that_is_not_known_is_an_error(
    api: Api, path: str, field: str, allowed: str
) -> None:
    answer = api("GET", path)
    assert (answer.status, answer.body["field"]) == (422, field)
    assert answer.body["detail"] == f"{field}: there is no such parameter; allowed: {allowed}"


def test_every_parameter_of_the_document_is_known(api: Api) -> None:
    assert api("GET", "/v1/topics?prefix=a&internal=true&limit=5").status == 200
    assert api("GET", "/v1/journal?since=0&limit=1&api=Fetch&client=x").status == 200
