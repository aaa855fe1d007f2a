"""Admins look and take away; a group gets over it."""

from __future__ import annotations

import pytest

from tests.support.simulated_groups import SimulatedGroup


@pytest.mark.parametrize("protocol", ["eager", "consumer", "mixed"])
def test_a_group_gets_over_its_admin(protocol: str) -> None:
    group = SimulatedGroup(protocol, 2, admin=True, static=True, leave=True, crash=True)
    group.world.run_for(4_000)
    group.settle()
    (admin,) = group.group.admins
    assert admin.settled
    assert not admin.owned
