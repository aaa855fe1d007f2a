"""The API reference has all that is public, and pages name no verb that there is not."""

from __future__ import annotations

import re
from typing import Final

import pytest

import mockbroker
from mockbroker import coop_client
from mockbroker.testing.clock_view import ClockView
from mockbroker.testing.cluster_view import ClusterView
from mockbroker.testing.faults_view import FaultsView
from mockbroker.testing.group_view import GroupView
from mockbroker.testing.journal_view import JournalView
from mockbroker.testing.topic_view import TopicView
from mockbroker.testing.transaction_view import TransactionView
from tests.clients.server import ROOT

REFERENCE: Final = (ROOT / "docs" / "reference.md").read_text("utf-8")
VIEWS: Final = {
    "clock": ClockView,
    "cluster": ClusterView,
    "faults": FaultsView,
    "group": GroupView,
    "journal": JournalView,
    "topic": TopicView,
    "transaction": TransactionView,
}
NAMED: Final = re.compile(
    r"(?<![\w.])(?:mock)?broker(?:_aio|\.aio)?\.(?:(topic|group|transaction)\([^()]*\)|"
    r"(?<!mockbroker\.)(clock|cluster|faults|journal))\.(\w+)"
)
"""A verb of a view; `mockbroker.journal.request` is a module."""


@pytest.mark.parametrize("module", [mockbroker, coop_client], ids=lambda module: module.__name__)
def test_all_that_is_public_is_in_it(module: object) -> None:
    names: list[str] = vars(module)["__all__"]
    documented = set(re.findall(r"auto(?:class|exception):: (?:[\w.]+\.)?(\w+)", REFERENCE))
    assert {name for name in names if not name.startswith("__")} <= documented


def test_pages_name_what_there_is() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = [(page.name, *one) for page in pages for one in NAMED.findall(page.read_text("utf-8"))]
    assert len(found) > 50
    assert [one for one in found if not hasattr(VIEWS[one[1] or one[2]], one[3])] == []
