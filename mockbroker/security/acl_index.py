"""ACLs by what they are about and whom they concern, so that a decision meets no others.

`authorizer` keeps one of each node's ACLs and brings it up to date with each change (Kafka:
StandardAuthorizerData, which finds them in a sorted set). A look-up costs two names and the
prefixes of the name that are as long as some pattern, however many ACLs there are; an ACL that
comes or goes costs its own place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from mockbroker.metadata.acls import WILDCARD, Acl, PatternType, Permission

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ANYONE: Final = "User:*"

_Key = TypeVar("_Key")

_OfPattern: TypeAlias = dict[tuple[str, str], dict[Acl, None]]
"""The ACLs of one resource pattern, by principal and host."""


class AclIndex:
    """Invariant: nothing is empty, so that a pattern that is there has ACLs."""

    __slots__ = ("_allowing", "_lengths", "_literal", "_prefixed")

    def __init__(self, acls: Iterable[Acl]) -> None:
        self._literal: dict[tuple[int, str], _OfPattern] = {}
        self._prefixed: dict[tuple[int, str], _OfPattern] = {}
        self._lengths: dict[int, dict[int, int]] = {}
        """By resource type: how many prefixes there are of each length."""
        self._allowing: dict[tuple[int, str, int], dict[Acl, None]] = {}
        """Those that allow, by resource type, principal and operation."""
        for acl in acls:
            self.add(acl)

    def add(self, acl: Acl) -> None:
        """It is there from now on."""
        place = (acl.resource_type, acl.resource_name)
        patterns = self._patterns(acl)
        of_pattern = patterns.get(place)
        if of_pattern is None:
            of_pattern = patterns[place] = {}
            self._count_prefix(acl, 1)
        of_pattern.setdefault((acl.principal, acl.host), {})[acl] = None
        if acl.permission == Permission.ALLOW:
            key = (acl.resource_type, acl.principal, acl.operation)
            self._allowing.setdefault(key, {})[acl] = None

    def remove(self, acl: Acl) -> None:
        """It is gone; KeyError if it was not there."""
        place = (acl.resource_type, acl.resource_name)
        patterns = self._patterns(acl)
        of_pattern = patterns[place]
        _drop(of_pattern, (acl.principal, acl.host), acl)
        if not of_pattern:
            del patterns[place]
            self._count_prefix(acl, -1)
        if acl.permission == Permission.ALLOW:
            _drop(self._allowing, (acl.resource_type, acl.principal, acl.operation), acl)

    def is_any_about(self, resource_type: int, name: str) -> bool:
        """Whether there is an ACL, of whomever, whose pattern fits the resource."""
        return any(True for _ in self._about(resource_type, name))

    def concerning(self, principal: str, host: str, resource_type: int, name: str) -> Iterator[Acl]:
        """The ACLs about the resource that concern the principal at the host, each once."""
        for of_pattern in self._about(resource_type, name):
            for who in (principal, ANYONE) if principal != ANYONE else (ANYONE,):
                for where in (host, WILDCARD) if host != WILDCARD else (WILDCARD,):
                    yield from of_pattern.get((who, where), ())

    def allowing(self, principal: str, operation: int, resource_type: int) -> Iterator[Acl]:
        """The ACLs that allow the principal, or anyone, exactly this operation somewhere."""
        for who in (principal, ANYONE) if principal != ANYONE else (ANYONE,):
            yield from self._allowing.get((resource_type, who, operation), ())

    def _about(self, resource_type: int, name: str) -> Iterator[_OfPattern]:
        """The patterns that fit the resource."""
        found = self._literal.get((resource_type, name))
        if found is not None:
            yield found
        if name != WILDCARD:
            found = self._literal.get((resource_type, WILDCARD))
            if found is not None:
                yield found
        lengths = self._lengths.get(resource_type)
        if lengths is None:
            return
        most = len(name)
        for length in lengths if len(lengths) <= most else range(1, most + 1):
            if length in lengths and length <= most:
                found = self._prefixed.get((resource_type, name[:length]))
                if found is not None:
                    yield found

    def _patterns(self, acl: Acl) -> dict[tuple[int, str], _OfPattern]:
        return self._prefixed if acl.pattern_type == PatternType.PREFIXED else self._literal

    def _count_prefix(self, acl: Acl, difference: int) -> None:
        """A prefix came to be or went."""
        if acl.pattern_type != PatternType.PREFIXED:
            return
        lengths = self._lengths.setdefault(acl.resource_type, {})
        length = len(acl.resource_name)
        count = lengths.pop(length, 0) + difference
        if count:
            lengths[length] = count


def _drop(groups: dict[_Key, dict[Acl, None]], key: _Key, acl: Acl) -> None:
    """Take it out of its group; a group that is empty then is gone."""
    group = groups[key]
    del group[acl]
    if not group:
        del groups[key]
