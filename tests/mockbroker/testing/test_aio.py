"""`broker.aio` names views; what they do is tested where they are."""

from __future__ import annotations

import pytest

from mockbroker import MockBroker
from mockbroker.testing.group_view import AsyncGroupView
from mockbroker.testing.topic_view import AsyncTopicView


def test_it_names_topics_and_groups() -> None:
    with MockBroker() as broker:
        assert isinstance(broker.aio.topic("orders"), AsyncTopicView)
        assert broker.aio.topic("orders").name == "orders"
        assert isinstance(broker.aio.group("g"), AsyncGroupView)
        assert broker.aio.group("g").group_id == "g"
    with pytest.raises(RuntimeError, match="not running"):
        _ = broker.aio
