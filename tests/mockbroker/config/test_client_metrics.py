"""What a subscription to clients' metrics may say, and what it is taken apart into."""

from __future__ import annotations

import pytest

from mockbroker.config.client_metrics import Subscription, validate
from mockbroker.config.errors import ConfigError, InvalidRequestError


def test_a_subscription_is_taken_apart() -> None:
    configs = {"metrics": "a., b.", "match": "client_id=x.*, client_software_name=java"}
    subscription = Subscription("s", configs)
    assert subscription.interval_ms == 300_000
    assert subscription.metrics == ["a.", "b."]
    assert set(subscription.patterns) == {"client_id", "client_software_name"}
    assert subscription.patterns["client_id"].fullmatch("xyz")


@pytest.mark.parametrize(
    ("key", "text", "error"),
    [
        ("nope", "1", InvalidRequestError),
        ("interval.ms", "99", InvalidRequestError),
        ("interval.ms", "3600001", InvalidRequestError),
        ("interval.ms", "x", ConfigError),
        ("match", "client_id", ConfigError),
        ("match", "client_id=", ConfigError),
        ("match", "=x", ConfigError),
        ("match", "foo=x", ConfigError),
        ("match", "client_id=[b", ConfigError),
        ("match", "client_id=a=b", ConfigError),
    ],
)
def test_what_may_not_be_set(key: str, text: str, error: type[ConfigError]) -> None:
    with pytest.raises(error) as caught:
        validate("s", {key: text})
    assert type(caught.value) is error


def test_a_subscription_needs_a_name() -> None:
    with pytest.raises(InvalidRequestError, match="empty"):
        validate("", {})


def test_empty_lists_are_allowed() -> None:
    validate("s", {"metrics": "", "match": "", "interval.ms": "100"})
