"""Apache Kafka and this broker answer the same script alike, field by field.

One test a step, so that a report names each step that differs: the request, then a line for each
field with both values. What may differ, and why, is in tests/differential/normalise.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.differential.script import make_script
from tests.differential.trees import brief, differences

if TYPE_CHECKING:
    from tests.differential.conftest import Transcript

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

TITLES = [step.title for step in make_script()]


@pytest.mark.parametrize(
    "index", [pytest.param(n, id=f"{n:04}: {title}") for n, title in enumerate(TITLES)]
)
def test_the_answer_is_that_of_apache_kafka(
    kafkas: Transcript, ours: Transcript, index: int
) -> None:
    request, expected = kafkas[index]
    lines = list(differences(expected, ours[index][1]))
    if lines:
        pytest.fail("\n".join([f"{TITLES[index]}: {brief(request, 600)}", *lines]), pytrace=False)
