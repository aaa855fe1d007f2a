"""What docs/security.md says for Java: its recipe, and a delegation token that a test made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker

if TYPE_CHECKING:
    from pathlib import Path

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


CONFIG = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "delegation.token.secret.key": "a key",
}


def test_a_delegation_token_that_a_test_made_is_a_login(jvm: Jvm, tmp_path: Path) -> None:
    with MockBroker(config=CONFIG, topics={"orders": 1}) as broker:
        token = broker.delegation_token("alice")
        config = broker.client_config("java", delegation_token=token)
        file = tmp_path / "client.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
        where = ("--bootstrap-server", broker.bootstrap_servers, "--command-config", str(file))
        jvm.check(f"{TOOLS}.ConsoleProducer", "--topic", "orders", *where, stdin="paid\n")
        wrote = broker.journal.requests(api="Produce")
        assert {one.principal for one in wrote} == {"User:alice"}
