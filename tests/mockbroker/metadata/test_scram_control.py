"""Credentials come and go user by user, as Kafka's controller decides; none is ever shown."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.scram import Upsertion, credential_of
from mockbroker.metadata.scram_control import (
    MAX_CHANGES,
    alter_scram_credentials,
    replace_scram_credentials,
)
from mockbroker.metadata.store import MetadataStore
from mockbroker_protocol.errors import ErrorCode

TWICE = "A user credential cannot be altered twice in the same request"


def store() -> MetadataStore:
    return MetadataStore("c", BrokerConfig())


def upsertion(user: str = "alice", mechanism: int = 1, iterations: int = 4096) -> Upsertion:
    return Upsertion(user, mechanism, iterations, b"salt", b"hush")


def test_a_credential_is_set_replaced_and_removed() -> None:
    metadata = store()
    for one in (upsertion(), upsertion(iterations=8192), upsertion(mechanism=2)):
        answers = alter_scram_credentials(metadata, [], [one])
        assert answers["alice"].error is ErrorCode.NONE
    assert {user: one.iterations for user, one in metadata.scram_credentials.items()} == {
        ("alice", 1): 8192,
        ("alice", 2): 4096,
    }
    assert metadata.scram_credentials["alice", 1] == credential_of(
        "SCRAM-SHA-256", b"hush", b"salt", 8192
    )
    alter_scram_credentials(metadata, [("alice", 1)], [])
    assert list(metadata.scram_credentials) == [("alice", 2)]


@pytest.mark.parametrize(
    ("one", "code", "message"),
    [
        (upsertion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (
            upsertion(mechanism=0),
            ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            "Unknown SCRAM mechanism",
        ),
        (upsertion(iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (upsertion(iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
    ],
)
def test_what_is_refused(one: Upsertion, code: ErrorCode, message: str) -> None:
    metadata = store()
    assert alter_scram_credentials(metadata, [], [one]) == {one.user: (code, message)}
    assert not metadata.scram_credentials


def test_nobody_is_removed_who_is_not_there() -> None:
    answers = alter_scram_credentials(store(), [("alice", 1)], [])
    assert answers["alice"] == (
        ErrorCode.RESOURCE_NOT_FOUND,
        "Attempt to delete a user credential that does not exist",
    )


def test_a_user_is_altered_once_in_a_request() -> None:
    metadata = store()
    alter_scram_credentials(metadata, [], [upsertion("bob")])
    answers = alter_scram_credentials(
        metadata, [("bob", 1)], [upsertion(), upsertion(), upsertion(), upsertion("bob")]
    )
    assert answers == dict.fromkeys(("alice", "bob"), (ErrorCode.DUPLICATE_RESOURCE, TWICE))
    assert list(metadata.scram_credentials) == [("bob", 1)]


def test_more_than_the_controller_commits_as_one_change_nothing() -> None:
    metadata = store()
    many = [upsertion(f"user{number}") for number in range(MAX_CHANGES + 1)]
    answers = alter_scram_credentials(metadata, [("nobody", 1)], many)
    assert answers["nobody"].error == ErrorCode.RESOURCE_NOT_FOUND
    assert {answers[one.user].error for one in many} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert metadata.scram_credentials == {}


def test_going_back_changes_what_differs() -> None:
    metadata = store()
    alter_scram_credentials(metadata, [], [upsertion(), upsertion("bob")])
    before, version = dict(metadata.scram_credentials), metadata.version
    replace_scram_credentials(metadata, before)
    assert metadata.version == version
    alter_scram_credentials(metadata, [("bob", 1)], [upsertion("carol")])
    replace_scram_credentials(metadata, {**dict.fromkeys(metadata.scram_credentials), **before})
    assert metadata.scram_credentials == before
