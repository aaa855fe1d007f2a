"""Produce v0 to v2 beside the last Apache Kafka that had them: what is stored is the same.

Batch headers are compared field by field, records with their timestamps: those given for magic 1,
none for magic 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.clients.server import serving
from tests.differential.conftest import kafka
from tests.differential.normalise import Symbols, normalise
from tests.differential.old_produce_steps import old_produce_steps
from tests.differential.run import Runner
from tests.differential.trees import differences

if TYPE_CHECKING:
    from pathlib import Path

    from tests.differential.trees import Tree

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

OLD_KAFKA_VERSION = "3.9.2"
KEEP = "log.retention.ms=-1"


def answers(bootstrap: str) -> list[Tree]:
    symbols = Symbols()
    outcomes = Runner(bootstrap).run(old_produce_steps())
    return [normalise(one.api, one.answer, symbols) for one in outcomes]


def test_old_messages_are_stored_as_kafka_stored_them(tmp_path: Path) -> None:
    with kafka(KEEP, version=OLD_KAFKA_VERSION) as bootstrap:
        expected = answers(bootstrap)
    with serving(tmp_path, f"--set={KEEP}") as ours:
        found = answers(ours)
    titles = [step.title for step in old_produce_steps()]
    differing = [
        f"{title}: {line}"
        for title, theirs, mine in zip(titles, expected, found, strict=True)
        if title.startswith(("Produce", "Fetch"))
        for line in differences(theirs, mine)
    ]
    assert not differing, "\n".join(differing)
