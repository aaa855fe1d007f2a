"""One JVM for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from tests.clients.java import jvm as java

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.clients.java.jvm import Jvm

TOOLS = "org.apache.kafka.tools"
# This one is in the broker's jar.
MAINS = {"ConfigCommand": "kafka.admin.ConfigCommand"}
# Before the subcommand.
ADDRESS_FIRST = ("FeatureCommand", "MetadataQuorumCommand", "TransactionsCommand")
# It writes its last lines from a shutdown hook of the JVM.
ALONE = ("VerifiableProducer",)


@pytest.fixture(scope="session")
def jvm() -> Iterator[Jvm]:
    with java.running() as one:
        yield one


class Tool(Protocol):
    """Runs one of the tools behind the kafka-*.sh against the broker; what it printed."""

    def __call__(self, name: str, *args: str, stdin: str = "", status: int = 0) -> str: ...


@pytest.fixture
def tool(jvm: Jvm, server_process: str) -> Tool:
    def run(name: str, *args: str, stdin: str = "", status: int = 0) -> str:
        main = MAINS.get(name, f"{TOOLS}.{name}")
        # A tool that names the option otherwise has it as its last argument.
        named = args[-1:] == ("--broker-list",)
        address = (server_process,) if named else ("--bootstrap-server", server_process)
        line = (*address, *args) if name in ADDRESS_FIRST else (*args, *address)
        ran = java.run_alone(main, *line) if name in ALONE else jvm.run(main, *line, stdin=stdin)
        assert ran.status == status, f"{name} {' '.join(args)}: {ran.out}{ran.err}"
        return ran.out if status == 0 else ran.out + ran.err

    return run
