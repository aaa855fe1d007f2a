"""Which codes make an ACL, and which ACLs a filter means."""

from __future__ import annotations

import pytest

from mockbroker.metadata.acls import Acl, AclFilter, is_binding

ACL = Acl(2, "prefix", 4, "User:a", "*", 3, 3)
ALL = AclFilter(1, None, 1, None, None, 1, 1)


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


def test_a_filter_that_leaves_nothing_open_means_one_acl() -> None:
    exactly = AclFilter(*ACL)
    assert exactly.only == ACL
    for left_open in (
        exactly._replace(resource_type=1),
        exactly._replace(resource_name=None),
        exactly._replace(pattern_type=1),
        exactly._replace(pattern_type=2),
        exactly._replace(principal=None),
        exactly._replace(host=None),
        exactly._replace(operation=1),
        exactly._replace(permission=1),
    ):
        assert left_open.only is None
        assert left_open.matches(ACL)


def test_codes_that_mean_many_are_no_binding() -> None:
    assert is_binding(ACL)
    for code in (1, 99):
        assert not is_binding(ACL._replace(resource_type=code))
        assert not is_binding(ACL._replace(pattern_type=code))
        assert not is_binding(ACL._replace(operation=code))
        assert not is_binding(ACL._replace(permission=code))
