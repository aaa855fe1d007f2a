"""The recipe of docs/security.md for Java: its file is what Kafka's tools are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.clients.java.jvm import Jvm
    from tests.clients.recipes import Recipes

pytestmark = [pytest.mark.java, pytest.mark.timeout(120)]

TOOLS = "org.apache.kafka.tools"


def test_the_console_producer_writes_a_record(recipes: Recipes, jvm: Jvm) -> None:
    file = recipes.folder / "client.properties"
    file.write_text(recipes.text("Java"))
    before = recipes.broker.journal.cursor()
    where = ("--bootstrap-server", recipes.bootstrap, "--command-config", str(file))
    jvm.check(f"{TOOLS}.ConsoleProducer", "--topic", "orders", *where, stdin="paid\n")
    recipes.check(before)
