"""Which ACLs may be, and which a filter means."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.acls import Acl, AclFilter, create_acls, delete_acls, is_binding
from mockbroker.metadata.store import MetadataStore

ACL = Acl(2, "prefix", 4, "User:a", "*", 3, 3)
ALL = AclFilter(1, None, 1, None, None, 1, 1)


def test_an_acl_is_kept_once_until_a_filter_removes_it() -> None:
    store = MetadataStore("cluster", BrokerConfig())
    assert [answer.error for answer in create_acls(store, [ACL, ACL])] == [0, 0]
    assert list(store.acls) == [ACL]
    first, second = delete_acls(store, [ALL, ALL._replace(principal="User:b")])
    assert (list(first.acls), list(second.acls), store.acls) == ([ACL], [], {})


@pytest.mark.parametrize(
    ("acl", "message"),
    [
        (ACL._replace(resource_type=4), "only valid name"),
        (ACL._replace(resource_name=""), "empty resource name"),
        (ACL._replace(principal="nobody"), "no colon"),
    ],
)
def test_what_may_not_be_is_refused_alone(acl: Acl, message: str) -> None:
    store = MetadataStore("cluster", BrokerConfig())
    good, bad = create_acls(store, [ACL, acl])
    assert (good.error, bad.error, list(store.acls)) == (0, 42, [ACL])
    assert message in (bad.message or "")


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (ALL, True),
        (ALL._replace(resource_name="prefix"), True),
        (ALL._replace(resource_name="prefixed"), False),
        (ALL._replace(resource_name="prefixed", pattern_type=2), True),
        (ALL._replace(resource_name="pre", pattern_type=2), False),
        (ALL._replace(pattern_type=3), False),
        (ALL._replace(host="10.0.0.1"), False),
        (ALL._replace(operation=3, permission=3), True),
    ],
)
def test_what_a_filter_means(wanted: AclFilter, fits: bool) -> None:
    assert wanted.matches(ACL) is fits


def test_codes_that_mean_many_are_no_binding() -> None:
    assert is_binding(ACL)
    for code in (1, 99):
        assert not is_binding(ACL._replace(resource_type=code))
        assert not is_binding(ACL._replace(pattern_type=code))
        assert not is_binding(ACL._replace(operation=code))
        assert not is_binding(ACL._replace(permission=code))
