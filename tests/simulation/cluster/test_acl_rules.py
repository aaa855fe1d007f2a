"""ACLs as they are written down for those who hold brokers to them."""

from __future__ import annotations

import pytest

from mockbroker.metadata.acls import Acl
from mockbroker_protocol.messages.acls import DeleteAclsFilter
from simulation.cluster import acl_rules as rules
from simulation.cluster.acl_rules import ExpectedRights, acl_fits


def acl(
    name: str,
    operation: int = rules.READ,
    permission: int = rules.ALLOW,
    *,
    pattern: int = rules.LITERAL,
    principal: str = "User:ann",
    host: str = "*",
) -> Acl:
    return Acl(rules.TOPIC, name, pattern, principal, host, operation, permission)


def rights(*acls: Acl, everyone: bool = False, is_super: bool = False) -> ExpectedRights:
    return ExpectedRights(acls, "User:ann", "127.0.0.1", everyone=everyone, is_super=is_super)


@pytest.mark.parametrize(
    ("acls", "allowed"),
    [
        ((acl("a"),), True),
        ((acl("a", rules.DESCRIBE),), False),
        ((acl("a", rules.ALL),), True),
        ((acl("*"),), True),
        ((acl("b"),), False),
        ((acl("a", principal="User:*"),), True),
        ((acl("a", principal="User:bob"),), False),
        ((acl("a", host="10.0.0.1"),), False),
        ((acl("", pattern=rules.PREFIXED),), True),
        ((acl("ab", pattern=rules.PREFIXED),), False),
        ((acl("a"), acl("*", permission=rules.DENY)), False),
        ((acl("a"), acl("*", rules.DESCRIBE, rules.DENY)), True),
    ],
)
def test_what_is_allowed(acls: tuple[Acl, ...], allowed: bool) -> None:
    assert rights(*acls).allows(rules.READ, rules.TOPIC, "a") is allowed


def test_who_reads_may_describe() -> None:
    assert rights(acl("a")).bits(rules.TOPIC, "a") == 1 << rules.READ | 1 << rules.DESCRIBE


def test_what_no_acl_is_about_is_as_the_config_says() -> None:
    assert rights(acl("a"), everyone=True).allows(rules.READ, rules.TOPIC, "b")
    assert not rights(acl("a", rules.ALTER), everyone=True).allows(rules.READ, rules.TOPIC, "a")
    assert rights(acl("a", rules.ALL, rules.DENY), is_super=True).allows(
        rules.READ, rules.TOPIC, "a"
    )


@pytest.mark.parametrize(
    ("acls", "some"),
    [
        ((acl("a", rules.WRITE),), True),
        ((acl("a", rules.WRITE), acl("a", rules.ALL, rules.DENY)), False),
        ((acl("*", rules.WRITE), acl("a", rules.ALL, rules.DENY)), True),
        (
            (acl("ab", rules.WRITE), acl("a", rules.ALL, rules.DENY, pattern=rules.PREFIXED)),
            False,
        ),
        ((acl("a", rules.READ),), False),
    ],
)
def test_some_resource_is_one_that_could_be_there(acls: tuple[Acl, ...], some: bool) -> None:
    assert rights(*acls).allows_some(rules.WRITE, rules.TOPIC) is some


@pytest.mark.parametrize(
    ("name", "pattern", "fits"),
    [
        ("abc", rules.MATCH, True),
        ("abc", rules.ANY, False),
        ("ab", rules.PREFIXED, True),
        ("ab", rules.LITERAL, False),
        (None, rules.ANY, True),
    ],
)
def test_a_filter_means_patterns_or_what_they_fit(
    name: str | None, pattern: int, fits: bool
) -> None:
    asked = DeleteAclsFilter(rules.ANY, name, pattern, None, None, rules.ANY, rules.ANY)
    assert acl_fits(acl("ab", pattern=rules.PREFIXED), asked) is fits
