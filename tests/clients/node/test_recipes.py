"""The recipe of docs/security.md for kafkajs, run as it stands there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.clients.node.test_kafkajs import PACKAGES, node

if TYPE_CHECKING:
    from tests.clients.recipes import Recipes

pytestmark = [pytest.mark.node, pytest.mark.timeout(120)]


def test_it_writes_a_record(recipes: Recipes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_PATH", str(PACKAGES))
    program = recipes.folder / "recipe.cjs"
    program.write_text(recipes.text("kafkajs"))
    recipes.run(node(), str(program), client="kafkajs")
