"""DescribeClientQuotas as a client sees it."""

from __future__ import annotations

from mockbroker.metadata.changes import ClientQuotasChanged
from mockbroker_protocol.messages.quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from tests.support.core import Core


def test_quotas_are_described() -> None:
    core = Core()
    entity = (("client-id", None), ("user", "u"))
    core.cluster.metadata.apply(ClientQuotasChanged(entity, {"consumer_byte_rate": 7.0}))
    request = DescribeClientQuotasRequest([ComponentData("user", 0, "u")])
    answer = core.client().call(request, 1, DescribeClientQuotasResponse)
    assert answer.entries is not None
    (entry,) = answer.entries
    assert [(each.entity_type, each.entity_name) for each in entry.entity] == list(entity)
    assert [(each.key, each.value) for each in entry.values] == [("consumer_byte_rate", 7.0)]


def test_a_bad_filter_is_told() -> None:
    request = DescribeClientQuotasRequest([ComponentData("foo", 0, "u")])
    answer = Core().client().call(request, 0, DescribeClientQuotasResponse)
    assert (answer.error_code, answer.error_message) == (35, "Unsupported entity type foo")
    assert answer.entries is None
