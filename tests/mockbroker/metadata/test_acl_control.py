"""ACLs are created once, refused alone, and deleted by what filters mean."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.acl_control import create_acls, delete_acls
from mockbroker.metadata.acls import Acl, AclFilter
from mockbroker.metadata.store import MetadataStore
from tests.support.work_counts import lines_of

ACL = Acl(2, "prefix", 4, "User:a", "*", 3, 3)
ALL = AclFilter(1, None, 1, None, None, 1, 1)


def test_an_acl_is_kept_once_until_a_filter_removes_it() -> None:
    store = MetadataStore("cluster", BrokerConfig())
    assert [answer.error for answer in create_acls(store, [ACL, ACL])] == [0, 0]
    assert list(store.acls) == [ACL]
    first, second = delete_acls(store, [ALL, ALL._replace(principal="User:b")])
    assert (list(first.acls), list(second.acls), store.acls) == ([ACL], [], {})


def test_what_is_named_in_full_costs_the_same_among_few_and_among_many() -> None:
    def lines(count: int) -> int:
        store = MetadataStore("cluster", BrokerConfig())
        create_acls(store, [ACL._replace(principal=f"User:{n}") for n in range(count)])
        return lines_of(lambda: delete_acls(store, [AclFilter(*ACL._replace(principal="User:1"))]))

    assert lines(3) == lines(1000)


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
