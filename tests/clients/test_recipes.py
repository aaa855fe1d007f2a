"""The recipes of docs/security.md for clients in Python, each run as it stands there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.clients.recipes import texts

if TYPE_CHECKING:
    from tests.clients.recipes import Recipes

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]

ELSEWHERE = {
    "Java": "java/test_recipes.py",
    "kafkajs": "node/test_recipes.py",
    "franz-go": "franz/test_recipes.py",
    "Spark": "../spark/test_recipes.py",
}
BY_HAND = {"node-rdkafka"}
"""It has to be built, and no package of it has what was built."""
HERE = ("confluent-kafka", "kafka-python", "aiokafka")


def test_each_recipe_is_run_or_says_why_not() -> None:
    assert texts().keys() == {"", *HERE, *ELSEWHERE, *BY_HAND}


@pytest.mark.parametrize("client", HERE)
def test_it_writes_a_record(recipes: Recipes, client: str) -> None:
    program = recipes.folder / "recipe.py"
    program.write_text(recipes.text(client))
    recipes.run(sys.executable, str(program), client=client)
