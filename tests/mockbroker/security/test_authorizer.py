"""Which ACLs decide."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.errors import ConfigError
from mockbroker.metadata.acl_control import create_acls
from mockbroker.metadata.acls import OPERATIONS, Acl
from mockbroker.metadata.changes import AclsChanged
from mockbroker.metadata.store import MetadataStore
from mockbroker.security.authorizer import (
    STANDARD_AUTHORIZER,
    StandardAuthorizer,
    make_authorizer,
)
from tests.support.work_counts import lines_of

READ, WRITE, DESCRIBE = 3, 4, 8
ALLOW = Acl(2, "t", 3, "User:a", "*", READ, 3)
DENY = ALLOW._replace(permission=2)


def authorizer(*acls: Acl, **configs: str) -> StandardAuthorizer:
    config = BrokerConfig(configs)
    store = MetadataStore("cluster", config)
    made = StandardAuthorizer(config, store)
    assert not made.allows("User:a", "h", READ, 2, "other") or configs
    assert all(answer.error == 0 for answer in create_acls(store, acls))
    return made


@pytest.mark.parametrize(
    ("acls", "operation", "allowed"),
    [
        ((), READ, False),
        ((ALLOW,), READ, True),
        ((ALLOW,), DESCRIBE, True),
        ((ALLOW,), WRITE, False),
        ((ALLOW, DENY), READ, False),
        ((DENY, ALLOW._replace(operation=2)), DESCRIBE, True),
        ((ALLOW._replace(resource_name="*"),), READ, True),
        ((ALLOW._replace(resource_name="t", pattern_type=4),), READ, True),
        ((ALLOW._replace(resource_name="tt", pattern_type=4),), READ, False),
        ((ALLOW._replace(principal="User:*"),), READ, True),
        ((ALLOW._replace(principal="User:b"),), READ, False),
        ((ALLOW._replace(host="h"),), READ, True),
        ((ALLOW._replace(host="i"),), READ, False),
        ((ALLOW._replace(resource_type=3),), READ, False),
    ],
)
def test_who_may(acls: tuple[Acl, ...], operation: int, allowed: bool) -> None:
    assert authorizer(*acls).allows("User:a", "h", operation, 2, "t") is allowed


def test_acls_of_other_resources_cost_a_decision_nothing() -> None:
    few, many = (
        authorizer(ALLOW, *(DENY._replace(resource_name=f"u{index}") for index in range(count)))
        for count in (1, 500)
    )
    for made in (few, many):
        assert not made.allows("User:a", "h", WRITE, 2, "t")  # they are sorted once
    least = lines_of(lambda: few.allows("User:a", "h", READ, 2, "t"))
    assert lines_of(lambda: many.allows("User:a", "h", READ, 2, "t")) == least


@pytest.mark.parametrize("name", ["*", "t"])
def test_a_wildcard_is_about_each_name_once(name: str) -> None:
    made = authorizer(ALLOW._replace(resource_name="*"))
    assert made.allows("User:a", "h", READ, 2, name)
    assert made.authorized_operations("User:a", "h", 2, name) == 1 << READ | 1 << DESCRIBE


@pytest.mark.parametrize(("user", "free"), [("a", False), ("a", True), ("root", False)])
def test_operations_on_what_no_acl_is_about(user: str, free: bool) -> None:
    configs = {"super.users": "User:root", "allow.everyone.if.no.acl.found": str(free).lower()}
    told = authorizer(ALLOW, **configs).authorized_operations(f"User:{user}", "h", 2, "u")
    every = sum(1 << operation for operation in OPERATIONS[2])
    assert told == (every if free or user == "root" else 0)


def test_super_users_may_all_and_everyone_what_no_acl_is_about() -> None:
    free = {"allow.everyone.if.no.acl.found": "true", "super.users": "User:root;User:admin"}
    made = authorizer(DENY, **free)
    assert made.allows("User:admin", "h", READ, 2, "t")
    assert made.allows("User:a", "h", READ, 2, "u")
    assert not made.allows("User:a", "h", WRITE, 2, "t")


@pytest.mark.parametrize(
    ("acls", "allowed"),
    [
        ((), False),
        ((ALLOW,), True),
        ((ALLOW, DENY), False),
        ((ALLOW._replace(resource_name="*"), DENY), True),
        ((ALLOW, DENY._replace(resource_name="*")), False),
        ((ALLOW, DENY._replace(pattern_type=4)), False),
        ((ALLOW._replace(pattern_type=4), DENY), True),
    ],
)
def test_whether_there_is_some_resource(acls: tuple[Acl, ...], allowed: bool) -> None:
    assert authorizer(*acls).allows_some("User:a", "h", READ, 2) is allowed


def test_authorized_operations_are_bits() -> None:
    assert authorizer(ALLOW).authorized_operations("User:a", "h", 2, "t") == 1 << 3 | 1 << 8


def test_bad_configs_name_themselves() -> None:
    store = MetadataStore("cluster", BrokerConfig())
    assert make_authorizer(BrokerConfig(), store) is None
    with pytest.raises(ConfigError, match=r"authorizer\.class\.name"):
        make_authorizer(BrokerConfig({"authorizer.class.name": "x.Y"}), store)
    bad = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "root"}
    with pytest.raises(ConfigError, match=r"super\.users"):
        make_authorizer(BrokerConfig(bad), store)


def test_what_was_decided_before_an_acl_came_or_went_is_decided_anew() -> None:
    store = MetadataStore("cluster", BrokerConfig({}))
    made = StandardAuthorizer(BrokerConfig({}), store)
    for added, removed, allowed in (((), (), False), ((ALLOW,), (), True), ((), (ALLOW,), False)):
        store.apply(AclsChanged(added, removed))
        assert made.allows("User:a", "h", READ, 2, "t") is allowed


@pytest.mark.parametrize(
    ("acl", "free", "touched"),
    [
        (ALLOW, False, [("t", False)]),
        (DENY, False, [("t", False)]),
        (ALLOW._replace(pattern_type=4), False, [("t", True)]),
        (ALLOW._replace(operation=2), False, [("t", False)]),
        (ALLOW._replace(principal="User:*"), False, [("t", False)]),
        (ALLOW._replace(resource_name="*"), False, None),
        (ALLOW._replace(resource_name="*", operation=WRITE), False, []),
        (ALLOW._replace(principal="User:b"), False, []),
        (ALLOW._replace(host="i"), False, []),
        (ALLOW._replace(operation=WRITE), False, []),
        (ALLOW._replace(resource_type=3), False, []),
        # There are ACLs about it from now on, so that not everyone may.
        (ALLOW._replace(principal="User:b"), True, [("t", False)]),
    ],
)
def test_what_a_change_touches(
    acl: Acl, free: bool, touched: list[tuple[str, bool]] | None
) -> None:
    config = BrokerConfig(
        {"allow.everyone.if.no.acl.found": str(free).lower(), "super.users": "User:root"}
    )
    store = MetadataStore("cluster", config)
    made = StandardAuthorizer(config, store)
    create_acls(store, [ALLOW._replace(resource_name="earlier")])
    before = made.changes
    assert made.changed_since(before, "User:a", "h", READ, 2) == []
    create_acls(store, [acl])
    assert made.changed_since(before, "User:a", "h", READ, 2) == touched
    assert made.changed_since(before, "User:root", "h", READ, 2) == []


def test_what_very_many_changes_touched_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockbroker.security.authorizer._CHANGES_KEPT", 3)
    store = MetadataStore("cluster", BrokerConfig({}))
    made = StandardAuthorizer(BrokerConfig({}), store)
    for index in range(4):
        store.apply(AclsChanged((ALLOW._replace(resource_name=f"t{index}"),), ()))
    asked = ("User:a", "h", READ, 2)
    assert [made.changed_since(since, *asked) for since in (4, 3, 2, 1)] == [
        [],
        [("t3", False)],
        [("t3", False), ("t2", False)],
        None,
    ]


@pytest.mark.parametrize(
    ("acls", "user", "rule"),
    [
        ((), "User:a", "DefaultDeny"),
        ((ALLOW,), "User:root", "SuperUser"),
        ((ALLOW,), "User:b", "DefaultDeny"),
        ((ALLOW,), "User:a", "resourceName=t, patternType=LITERAL, principal=User:a, host=*"),
        ((ALLOW, DENY), "User:a", "operation=READ, permissionType=DENY"),
        ((ALLOW, DENY._replace(operation=2, host="h")), "User:a", "operation=ALL, permission"),
        ((ALLOW, ALLOW._replace(resource_name="*")), "User:a", "resourceName=*"),
        ((DENY, DENY._replace(resource_name="*")), "User:a", "resourceName=t"),
    ],
)
def test_the_rule_that_decides_is_printed(acls: tuple[Acl, ...], user: str, rule: str) -> None:
    told = authorizer(*acls, **{"super.users": "User:root"}).rule(user, "h", READ, 2, "t")
    assert rule in told
    assert told.startswith(("Default", "Super", "MatchingAcl(acl=StandardAcl(resourceType=TOPIC, "))


def test_without_an_acl_everybody_may_where_that_is_set() -> None:
    made = authorizer(ALLOW, **{"allow.everyone.if.no.acl.found": "true"})
    assert made.rule("User:a", "h", READ, 2, "u") == "DefaultAllow"
