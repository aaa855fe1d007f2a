"""Whether a rule can match at all, on the broker that it is for.

`FaultSet.add` calls `check`; a rule that could never match is refused when it is made, not found
out when a test that should fail passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.faults.errors import FaultError
from mockbroker.faults.fault import REQUESTS
from mockbroker_protocol.api_keys import API_SPECS, ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.shapes import shape_of
from mockbroker_protocol.versions import FETCH_SESSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from mockbroker.faults.fault import Fault
    from mockbroker_protocol.shapes import Shape

    Served = Mapping[int, tuple[int, int]]

_FETCH_ONLY: Final = ("bad_crc", "evict_session")
_PRODUCE_ONLY: Final = frozenset(
    {
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
    }
)
_ERRORS_OF: Final = {
    **dict.fromkeys(_PRODUCE_ONLY, frozenset({ApiKey.PRODUCE})),
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND: frozenset({ApiKey.FETCH}),
    ErrorCode.INVALID_FETCH_SESSION_EPOCH: frozenset({ApiKey.FETCH}),
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR: frozenset({ApiKey.FETCH}),
    ErrorCode.MEMBER_ID_REQUIRED: frozenset(
        {ApiKey.JOIN_GROUP, ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT}
    ),
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: frozenset({ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP}),
    ErrorCode.INVALID_SESSION_TIMEOUT: frozenset({ApiKey.JOIN_GROUP}),
    ErrorCode.TOPIC_ALREADY_EXISTS: frozenset({ApiKey.CREATE_TOPICS}),
    ErrorCode.NON_EMPTY_GROUP: frozenset({ApiKey.DELETE_GROUPS, ApiKey.OFFSET_DELETE}),
}
"""Codes that no other API answers: there they would tell a client nothing."""


def check(
    fault: Fault,
    served: Served,
    brokers: Mapping[int, object],
    certificates: Collection[str] = (),
) -> None:
    """Raises FaultError when the rule could never match, or could not do what it says.

    `served` has the version range of each API of the broker, `brokers` its node ids,
    `certificates` what listeners can show beside their own.
    """
    if fault.broker is not None and fault.broker not in brokers:
        nodes = ", ".join(map(str, sorted(brokers)))
        raise FaultError("broker", f"there is no broker {fault.broker}", nodes)
    if fault.certificate is not None and fault.certificate not in certificates:
        problem = f"no listener can show one that is {fault.certificate}"
        raise FaultError("certificate", problem, ", ".join(certificates) or 'with tls="auto"')
    if fault.about != REQUESTS:
        return
    keys = fault.api_keys
    named = served if keys is None else keys
    for key in named:
        if key not in served:
            raise FaultError("api", f"{API_SPECS[key].name} is not served")
    _check_versions(fault, keys, served)
    shapes = {
        (key, version): shape_of(key, version)
        for key in named
        for version in _versions(fault, *served[key])
    }
    _check_matches(fault, shapes)
    _check_acts(fault, keys, shapes)


def _versions(fault: Fault, first: int, last: int) -> range:
    if fault.versions is None:
        return range(first, last + 1)
    return range(max(first, fault.versions[0]), min(last, fault.versions[1]) + 1)


def _check_versions(fault: Fault, keys: tuple[int, ...] | None, served: Served) -> None:
    if fault.versions is None:
        return
    if keys is None:
        raise FaultError("versions", "they are those of an API", "with `api`")
    for key in keys:
        if not _versions(fault, *served[key]):
            first, last = served[key]
            problem = f"{fault.versions[0]} to {fault.versions[1]} are outside the range served"
            raise FaultError("versions", problem, f"{API_SPECS[key].name} {first} to {last}")


def _check_matches(fault: Fault, shapes: Mapping[tuple[int, int], Shape]) -> None:
    has: tuple[tuple[str, str, Callable[[Shape], bool]], ...] = (
        ("topic", "names topics", lambda shape: shape.topics),
        ("partition", "names partitions", lambda shape: shape.topics and shape.partitions),
        ("group", "names groups", lambda shape: shape.groups),
        ("transactional_id", "names transactional ids", lambda shape: shape.transactional_ids),
    )
    for field, what, test in has:
        if getattr(fault, field) is not None:
            _require(fault, field, shapes, what, test)


def _require(
    fault: Fault,
    field: str,
    shapes: Mapping[tuple[int, int], Shape],
    what: str,
    test: Callable[[Shape], bool],
) -> None:
    """Each API that the rule names must have it in some version; of all APIs, one."""
    able = {key for (key, _), shape in shapes.items() if test(shape)}
    if fault.api is None and able:
        return
    for key, _ in shapes:
        if key not in able:
            raise FaultError(field, f"no {API_SPECS[key].name} that it matches {what}")


def _check_acts(
    fault: Fault, keys: tuple[int, ...] | None, shapes: Mapping[tuple[int, int], Shape]
) -> None:
    for field in _FETCH_ONLY:
        if getattr(fault, field) and keys != (ApiKey.FETCH,):
            raise FaultError(field, "only Fetch has that", "with api Fetch")
    if fault.evict_session and not any(v >= FETCH_SESSIONS for _, v in shapes):
        raise FaultError("versions", "Fetch has no sessions before v7")
    if fault.throttle_ms is not None:
        _require(fault, "throttle_ms", shapes, "answers a throttle time", lambda s: s.throttle)
    if fault.error is None:
        return
    if fault.level == "top":
        _require(fault, "level", shapes, "has an error at the top", lambda s: s.top_error)
    elif fault.level == "partition":
        _require(fault, "level", shapes, "has errors below the top", lambda s: s.nested_error)
    else:
        _require(fault, "error", shapes, "answers errors", lambda s: s.top_error or s.nested_error)
    able = _ERRORS_OF.get(fault.error_code)
    for key in () if able is None else keys or (-1,):
        if able is not None and key not in able:
            name = API_SPECS[key].name if key in API_SPECS else "an API that is not named"
            problem = f"{name} never answers {fault.error_code.name}"
            raise FaultError("error", problem, ", ".join(API_SPECS[k].name for k in sorted(able)))
