"""Filters by client id: Kafka's consumer passes over batches that were rebuilt or are empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.clients.filtered_topic import GIVEN, serving_filtered
from tests.clients.java.conftest import TOOLS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.java.jvm import Jvm

pytestmark = [pytest.mark.java, pytest.mark.timeout(120)]


def test_a_filter_by_client_id(jvm: Jvm, tmp_path: Path) -> None:
    with serving_filtered(tmp_path) as bootstrap:
        for client_id, given in GIVEN.items():
            shown = jvm.check(
                f"{TOOLS}.consumer.ConsoleConsumer",
                *["--bootstrap-server", bootstrap, "--topic", "t", "--from-beginning"],
                *["--command-property", f"client.id={client_id}"],
                *["--max-messages", str(len(given)), "--timeout-ms", "20000"],
            )
            assert [int(line) for line in shown.split()] == given
