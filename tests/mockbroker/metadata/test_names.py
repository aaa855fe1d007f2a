"""Names are judged, and ids made, as Apache Kafka does."""

from __future__ import annotations

from random import Random
from uuid import UUID

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.names import (
    invalid_topic_name,
    is_internal,
    random_uuid,
    unified_name,
)
from mockbroker_protocol.primitives import uuid_text

CHARSET = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "-", "...", "x" * 249, "__consumer_offsets"])
def test_good_names(name: str) -> None:
    assert invalid_topic_name(name) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
        ("a b", f"'a b' {CHARSET}"),
        ("é", f"'é' {CHARSET}"),
        ("²", f"'²' {CHARSET}"),
        ("a/b", f"'a/b' {CHARSET}"),
    ],
)
def test_bad_names_are_refused_in_kafkas_words(name: str, why: str) -> None:
    assert invalid_topic_name(name) == f"Topic name is invalid: {why}"


def test_internal_topics() -> None:
    config = BrokerConfig()
    assert is_internal("__consumer_offsets", config)
    assert is_internal("__transaction_state", config)
    assert not is_internal("__mine", config)
    assert not is_internal("__individual_commit_offsets", config)
    extended = BrokerConfig({"coop.extension.enable": "true"})
    assert is_internal("__individual_commit_offsets", extended)


def test_dots_and_underscores_are_one() -> None:
    assert unified_name("a.b_c") == unified_name("a_b.c") == "a_b_c"


def test_ids_are_version_4_and_never_look_like_an_option() -> None:
    rng = Random(7)
    ids = [random_uuid(rng) for _ in range(2000)]
    assert len(set(ids)) == 2000
    assert {UUID(bytes=value).version for value in ids} == {4}
    assert not any(uuid_text(value).startswith("-") for value in ids)
    assert ids == [random_uuid(rng) for rng in [Random(7)] for _ in range(2000)]
