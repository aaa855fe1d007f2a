"""Decisions of an authorizer made beside a broker's own, of ACLs that come one after the other.

Many that are made for one run's clients never meet; these are about the same few names. A denial
wins and implies nothing, what is allowed may imply more, and an ACL is in force at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.acls import Acl
from mockbroker.metadata.changes import AclsChanged
from mockbroker.metadata.store import MetadataStore
from mockbroker.security.authorizer import make_authorizer
from simulation.cluster import acl_rules as rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from mockbroker.node.broker import Broker

ROUNDS, AT_ONCE = 3, 2
ANN: Final = "User:ann"
PRINCIPALS: Final = (ANN, "User:*", "User:bob")
HOST: Final = "127.0.0.1"
HOSTS: Final = ("*", HOST, "10.0.0.1")
NAMES: Final = ("la", "lab", "*")


def wrong_decisions(broker: Broker, rng: Random) -> Iterator[str]:
    """Where a broker's authorizer would decide otherwise than the ACLs have it."""
    config = broker.services.config
    store = MetadataStore(broker.services.metadata.cluster_id, config)
    authorizer = make_authorizer(config, store)
    if authorizer is None:
        return
    everyone = config.bool("allow.everyone.if.no.acl.found")
    kind, name = rng.choice((rules.TOPIC, rules.GROUP)), rng.choice(("la", "lab"))
    for _ in range(ROUNDS):
        made = dict.fromkeys(_acl(rng, kind) for _ in range(AT_ONCE))
        store.apply(AclsChanged(tuple(acl for acl in made if acl not in store.acls), ()))
        rights = rules.ExpectedRights(store.acls, ANN, HOST, everyone=everyone, is_super=False)
        for operation in rules.OPERATIONS[kind]:
            wanted = rights.allows(operation, kind, name)
            if authorizer.allows(ANN, HOST, operation, kind, name) != wanted:
                yield (
                    f"{ANN} may{' not' * wanted} do {operation} to {name}, by {list(store.acls)}"
                )


def _acl(rng: Random, kind: int) -> Acl:
    name = rng.choice(NAMES)
    return Acl(
        kind,
        name,
        rules.LITERAL if name == "*" else rng.choice((rules.LITERAL, rules.PREFIXED)),
        rng.choice(PRINCIPALS),
        rng.choice(HOSTS),
        rng.choice((rules.ALL, *rules.OPERATIONS[kind])),
        rng.choice((rules.DENY, rules.ALLOW, rules.ALLOW)),
    )
