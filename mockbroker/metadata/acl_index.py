"""ACLs by what they are about and whom they concern, so that who asks meets no others.

`MetadataStore.acl_index` is the one of a node's ACLs, which each change brings up to date: the
authorizer decides by it (Kafka: StandardAuthorizerData, which finds them in a sorted set), and
filters find by it what they mean. What a decision looks up costs two names and the prefixes of the
name that are as long as some pattern, however many ACLs there are; an ACL that comes or goes costs
its own place. A filter costs the fewer of those that its name and those that its principal leaves.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from mockbroker.metadata.acls import ANY, WILDCARD, Acl, PatternType, Permission

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from mockbroker.metadata.acls import AclFilter

ANYONE: Final = "User:*"

_Key = TypeVar("_Key")

_OfPattern: TypeAlias = dict[tuple[str, str], dict[Acl, None]]
"""The ACLs of one resource pattern, by principal and host."""
_Patterns: TypeAlias = dict[int, dict[str, _OfPattern]]
"""By resource type and name."""


class AclIndex:
    """Invariant: nothing is empty, so that a pattern that is there has ACLs."""

    __slots__ = ("_allowing", "_lengths", "_literal", "_of_principal", "_prefixed")

    def __init__(self, acls: Iterable[Acl]) -> None:
        self._literal: _Patterns = {}
        self._prefixed: _Patterns = {}
        self._lengths: dict[int, dict[int, int]] = {}
        """By resource type: how many prefixes there are of each length."""
        self._allowing: dict[tuple[int, str, int], dict[Acl, None]] = {}
        """Those that allow, by resource type, principal and operation."""
        self._of_principal: dict[str, dict[Acl, None]] = {}
        for acl in acls:
            self.add(acl)

    def add(self, acl: Acl) -> None:
        """It is there from now on."""
        patterns = self._patterns(acl).setdefault(acl.resource_type, {})
        of_pattern = patterns.get(acl.resource_name)
        if of_pattern is None:
            of_pattern = patterns[acl.resource_name] = {}
            self._count_prefix(acl, 1)
        of_pattern.setdefault((acl.principal, acl.host), {})[acl] = None
        self._of_principal.setdefault(acl.principal, {})[acl] = None
        if acl.permission == Permission.ALLOW:
            key = (acl.resource_type, acl.principal, acl.operation)
            self._allowing.setdefault(key, {})[acl] = None

    def remove(self, acl: Acl) -> None:
        """It is gone; KeyError if it was not there."""
        by_type = self._patterns(acl)
        patterns = by_type[acl.resource_type]
        of_pattern = patterns[acl.resource_name]
        _drop(of_pattern, (acl.principal, acl.host), acl)
        _drop(self._of_principal, acl.principal, acl)
        if not of_pattern:
            del patterns[acl.resource_name]
            self._count_prefix(acl, -1)
            if not patterns:
                del by_type[acl.resource_type]
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

    def candidates(self, wanted: AclFilter) -> list[Acl]:
        """Those among which all are that a filter means.

        They are what its resource leaves or what its principal leaves, whichever is less; what is
        open in both leaves all.
        """
        fitting = self._fitting(wanted)
        if wanted.principal is not None:
            own = self._of_principal.get(wanted.principal, {})
            if wanted.resource_name is None or len(own) <= sum(map(len, fitting)):
                return list(own)
        return [acl for of_pattern in fitting for acls in of_pattern.values() for acl in acls]

    def _fitting(self, wanted: AclFilter) -> Collection[_OfPattern]:
        """The patterns that a filter's resource means (Kafka: ResourcePatternFilter)."""
        name, pattern = wanted.resource_name, wanted.pattern_type
        known = chain(self._literal, self._prefixed)
        types = dict.fromkeys(known) if wanted.resource_type == ANY else (wanted.resource_type,)
        if name is not None and pattern == PatternType.MATCH:
            return [each for of in types for each in self._about(of, name)]
        sides = []
        if pattern != PatternType.PREFIXED:
            sides.append(self._literal)
        if pattern != PatternType.LITERAL:
            sides.append(self._prefixed)
        found: list[_OfPattern] = []
        for patterns in (side.get(of, {}) for of in types for side in sides):
            if name is None:
                found += patterns.values()
            elif name in patterns:
                found.append(patterns[name])
        return found

    def _about(self, resource_type: int, name: str) -> Iterator[_OfPattern]:
        """The patterns that fit the resource."""
        literal = self._literal.get(resource_type, {})
        found = literal.get(name)
        if found is not None:
            yield found
        if name != WILDCARD:
            found = literal.get(WILDCARD)
            if found is not None:
                yield found
        lengths = self._lengths.get(resource_type)
        if lengths is None:
            return
        prefixed = self._prefixed.get(resource_type, {})
        most = len(name)
        for length in lengths if len(lengths) <= most else range(1, most + 1):
            if length in lengths and length <= most:
                found = prefixed.get(name[:length])
                if found is not None:
                    yield found

    def _patterns(self, acl: Acl) -> _Patterns:
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
