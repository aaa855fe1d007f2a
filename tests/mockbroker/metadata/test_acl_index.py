"""A look-up among ACLs finds what a walk over them would, at a cost that they do not raise."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.acl_index import AclIndex
from mockbroker.metadata.acls import Acl, AclFilter
from mockbroker.metadata.changes import AclsChanged
from mockbroker.metadata.store import MetadataStore
from mockbroker.security.authorizer import StandardAuthorizer
from simulation.cluster.acl_rules import ExpectedRights
from tests.support.work_counts import lines_of

NAMES = ("*", "a", "ab", "abc", "abcd", "b", "ba")
PRINCIPALS = ("User:*", "User:a", "User:b")
HOSTS = ("*", "h", "i")
READ, WRITE, DESCRIBE = 3, 4, 8
EVERY = AclFilter(1, None, 1, None, None, 1, 1)


def made_acl(rng: Random) -> Acl:
    return Acl(
        rng.choice((2, 2, 2, 3)),
        rng.choice(NAMES),
        rng.choice((3, 4)),
        rng.choice(PRINCIPALS),
        rng.choice(HOSTS),
        rng.choice((2, READ, WRITE, DESCRIBE)),
        rng.choice((2, 3, 3)),
    )


def made_filter(rng: Random) -> AclFilter:
    """Each part open or not."""
    return AclFilter(
        rng.choice((1, 2, 3)),
        rng.choice((None, *NAMES, "abx")),
        rng.choice((1, 2, 3, 4)),
        rng.choice((None, *PRINCIPALS)),
        rng.choice((None, *HOSTS)),
        rng.choice((1, READ, WRITE)),
        rng.choice((1, 2, 3)),
    )


def fits(acl: Acl, name: str) -> bool:
    if acl.pattern_type == 4:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (name, "*")


@given(seed=st.integers(0, 2**32), steps=st.integers(1, 60))
def test_it_finds_what_a_walk_finds(seed: int, steps: int) -> None:
    rng = Random(seed)
    there: dict[Acl, None] = dict.fromkeys(made_acl(rng) for _ in range(rng.randrange(5)))
    index = AclIndex(there)
    for _ in range(steps):
        if there and rng.random() < 0.45:
            gone = rng.choice(list(there))
            del there[gone]
            index.remove(gone)
        else:
            new = made_acl(rng)
            there[new] = None
            index.add(new)
        name, kind, host = rng.choice((*NAMES, "abx", "c")), 2, rng.choice(HOSTS)
        principal, operation = rng.choice(PRINCIPALS), rng.choice((2, READ))
        about = [acl for acl in there if acl.resource_type == kind and fits(acl, name)]
        concerning = [
            acl
            for acl in about
            if acl.principal in (principal, "User:*") and acl.host in (host, "*")
        ]
        found = list(index.concerning(principal, host, kind, name))
        assert len(found) == len(set(found))
        assert set(found) == set(concerning)
        assert index.is_any_about(kind, name) is bool(about)
        wanted = made_filter(rng)
        near = index.candidates(wanted)
        assert len(near) == len(set(near))
        assert {acl for acl in near if wanted.matches(acl)} == set(filter(wanted.matches, there))
        allowing = list(index.allowing(principal, operation, kind))
        assert len(allowing) == len(set(allowing))
        assert set(allowing) == {
            acl
            for acl in there
            if acl.resource_type == kind
            and acl.principal in (principal, "User:*")
            and (acl.operation, acl.permission) == (operation, 3)
        }
    for acl in list(there):
        index.remove(acl)
    assert not any(index.is_any_about(kind, name) for kind in (2, 3) for name in NAMES)
    assert not index.candidates(EVERY)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), everyone=st.booleans())
def test_decisions_are_those_of_the_law_while_acls_come_and_go(seed: int, everyone: bool) -> None:
    rng = Random(seed)
    config = BrokerConfig({"allow.everyone.if.no.acl.found": str(everyone).lower()})
    store = MetadataStore("cluster", config)
    authorizer = StandardAuthorizer(config, store)
    for _ in range(rng.randint(1, 12)):
        there = list(store.acls)
        removed = rng.sample(there, rng.randint(0, len(there) // 2))
        added = {made_acl(rng) for _ in range(rng.randint(0, 4))} - set(there)
        store.apply(AclsChanged(tuple(added), tuple(removed)))
        for principal, host in product(("User:a", "User:c"), ("h", "j")):
            rights = ExpectedRights(store.acls, principal, host, everyone=everyone, is_super=False)
            for operation in (READ, WRITE, DESCRIBE):
                for name in (*NAMES[1:], "abx"):
                    allowed = authorizer.allows(principal, host, operation, 2, name)
                    assert allowed is rights.allows(operation, 2, name)
            assert authorizer.allows_some(principal, host, WRITE, 2) is rights.allows_some(WRITE, 2)
            for name in NAMES[1:]:
                told = authorizer.authorized_operations(principal, host, 2, name)
                assert told == rights.bits(2, name)


def many(count: int) -> list[Acl]:
    """Prefixes, literals, and ACLs of many users and hosts about one topic."""
    return [
        acl
        for index in range(count)
        for acl in (
            Acl(2, f"p{index:07}", 4, "User:a", "*", READ, 3),
            Acl(2, f"u{index:07}", 3, "User:a", "*", READ, 2),
            Acl(2, "t", 3, f"User:{index}", "*", READ, 2),
            Acl(2, "t", 3, "User:a", f"10.0.0.{index}", READ, 2),
        )
    ]


def asked(count: int) -> tuple[StandardAuthorizer, MetadataStore]:
    store = MetadataStore("cluster", BrokerConfig({}))
    authorizer = StandardAuthorizer(BrokerConfig({}), store)
    store.apply(AclsChanged((*many(count), Acl(2, "p", 4, "User:a", "*", WRITE, 3)), ()))
    assert authorizer.allows("User:a", "h", READ, 2, "p0000000-x")  # they are sorted once
    return authorizer, store


@pytest.mark.parametrize("name", ["t", "p0000001-x", "u0000001", "nothing"])
def test_a_decision_costs_the_same_among_few_and_among_many(name: str) -> None:
    def lines(count: int) -> int:
        authorizer, _ = asked(count)
        return lines_of(lambda: authorizer.allows("User:a", "h", WRITE, 2, name))

    assert lines(3) == lines(100)


@pytest.mark.parametrize("operation", [READ, WRITE])
def test_so_does_whether_there_is_some_resource(operation: int) -> None:
    def lines(count: int) -> int:
        authorizer, _ = asked(count)
        return lines_of(lambda: authorizer.allows_some("User:a", "h", operation, 2))

    assert lines(3) == lines(100)


def test_so_does_an_acl_that_comes_or_goes_and_what_it_decides() -> None:
    one = (Acl(2, "new", 4, "User:a", "*", READ, 2),)

    def change(count: int) -> tuple[int, int]:
        authorizer, store = asked(count)

        def come_and_ask() -> None:
            store.apply(AclsChanged(one, ()))
            assert not authorizer.allows("User:a", "h", READ, 2, "new-1")

        return lines_of(come_and_ask), lines_of(lambda: store.apply(AclsChanged((), one)))

    assert change(3) == change(100)


@pytest.mark.parametrize(
    "wanted",
    [
        EVERY._replace(resource_name="p0000001"),
        EVERY._replace(resource_name="u0000001", resource_type=2),
        EVERY._replace(resource_name="p0000001-x", pattern_type=2),
        EVERY._replace(principal="User:1"),
        EVERY._replace(resource_name="t", principal="User:1"),
        EVERY._replace(resource_name="p0000001", principal="User:a"),
        EVERY._replace(resource_type=3),
    ],
)
def test_a_filter_costs_what_its_name_or_its_principal_leaves(wanted: AclFilter) -> None:
    def looked_at(count: int) -> tuple[int, int]:
        _, store = asked(count)
        found: list[Acl] = []
        lines = lines_of(lambda: found.extend(store.acls_near(wanted)))
        assert set(filter(wanted.matches, found)) == set(filter(wanted.matches, store.acls))
        return lines, len(found)

    assert looked_at(3) == looked_at(100)
    assert looked_at(3)[1] <= 2


def test_what_is_open_in_both_leaves_all() -> None:
    _, store = asked(3)
    assert set(store.acls_near(EVERY)) == set(store.acls)
    assert len(store.acls_near(EVERY._replace(pattern_type=4))) == 4
