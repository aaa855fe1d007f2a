"""What the messages of an API have depends on the version."""

from __future__ import annotations

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.messages.fetch import AbortedTransaction, FetchResponseTopic
from mockbroker_protocol.shapes import shape_of, tells_errors


def test_fetch_tells_errors_at_the_top_from_its_sessions_on() -> None:
    assert not shape_of(ApiKey.FETCH, 6).top_error
    assert shape_of(ApiKey.FETCH, 7).top_error
    assert shape_of(ApiKey.FETCH, 4).nested_error
    assert shape_of(ApiKey.FETCH, 4).partitions


def test_groups_and_transactions_are_found_by_their_fields() -> None:
    assert shape_of(ApiKey.HEARTBEAT, 0).groups
    assert not shape_of(ApiKey.HEARTBEAT, 0).topics
    assert shape_of(ApiKey.ADD_PARTITIONS_TO_TXN, 0).transactional_ids
    assert shape_of(ApiKey.PRODUCE, 3).transactional_ids
    assert not shape_of(ApiKey.PRODUCE, 2).transactional_ids


def test_a_struct_tells_errors_if_one_in_it_does() -> None:
    assert tells_errors(FetchResponseTopic)
    assert not tells_errors(AbortedTransaction)
