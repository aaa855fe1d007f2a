"""Consumer groups: coordinators, the classic protocol with two members, offsets, administration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.find_coordinator import FindCoordinatorRequest
from mockbroker_protocol.messages.group_admin import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
)
from mockbroker_protocol.messages.group_membership import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from tests.differential.offset_steps import commit, offset_steps
from tests.differential.steps import Awaited, ask

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.differential.steps import Known, Step

    Script = list[Step | Awaited]

SESSION_TIMEOUT_MS = 60_000
JOIN_VERSIONS = (0, 3, 4, 5, 7, 9)
# COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
LOADING = (14, 15, 16)
FIRST, SECOND = "first member", "second member"
# A member's connection, so that a parked join blocks nobody else.
WIRES = {FIRST: "first", SECOND: "second"}


def coordinator_steps() -> list[Step]:
    def find(key: str, kind: int = 0) -> FindCoordinatorRequest:
        return FindCoordinatorRequest(key, kind, [key])

    def is_found(answer: Any) -> bool:
        return bool(answer.error_code == 0)

    def is_led(answer: Any) -> bool:
        return all(group.error_code not in LOADING for group in answer.groups)

    groups = ["group-1", "static", "alone", "unheard-of", "nobody's"]
    groups += [f"pair-v{version}" for version in JOIN_VERSIONS]
    return [
        *ask("FindCoordinator, the first", 3, find("group-0"), until=is_found),
        # The partitions of the offsets topic are loaded one by one.
        *ask(
            "DescribeGroups once all are led",
            5,
            DescribeGroupsRequest(groups, False),
            until=is_led,
        ),
        *ask("FindCoordinator", range(7), find("group-1")),
        *ask("FindCoordinator of several", (4, 6), FindCoordinatorRequest("", 0, ["a", "b", ""])),
        *ask("FindCoordinator of none", (4, 6), FindCoordinatorRequest("", 0, [])),
        *ask("FindCoordinator of an empty group", (0, 3, 4), find("")),
        *ask("FindCoordinator of nonsense", (1, 3, 4, 6), find("group-1", 9)),
    ]


def join(
    group: str,
    member: str | Callable[[Known], str] = "",
    *,
    protocols: tuple[tuple[str, bytes], ...] = (("range", b"meta"),),
    kind: str = "consumer",
    session_timeout_ms: int = SESSION_TIMEOUT_MS,
    instance: str | None = None,
) -> Any:
    def build(known: Known) -> JoinGroupRequest:
        member_id = member if isinstance(member, str) else member(known)
        offered = [JoinGroupRequestProtocol(name, data) for name, data in protocols]
        return JoinGroupRequest(
            group, session_timeout_ms, 30_000, member_id, instance, kind, offered, None
        )

    return build


def learn_member(who: str) -> Callable[[Known, Any], None]:
    def learn(known: Known, answer: Any) -> None:
        known[who] = answer.member_id
        if hasattr(answer, "generation_id") and answer.generation_id >= 0:
            known["generation"] = answer.generation_id

    return learn


def known_member(who: str) -> Callable[[Known], str]:
    return lambda known: str(known[who])


def sync(group: str, who: str, *assigned: tuple[str, bytes], protocol: str | None = "range") -> Any:
    def build(known: Known) -> SyncGroupRequest:
        assignments = [SyncGroupRequestAssignment(known[member], data) for member, data in assigned]
        return SyncGroupRequest(
            group, known["generation"], known[who], None, "consumer", protocol, assignments
        )

    return build


def beat(group: str, who: str, *, generation: int | None = None) -> Any:
    def build(known: Known) -> HeartbeatRequest:
        number = known["generation"] if generation is None else generation
        return HeartbeatRequest(group, number, known[who], None)

    return build


def bad_member_steps() -> list[Step]:
    bad_joins = {
        "no group": join(""),
        "a short session": join("group-1", session_timeout_ms=10),
        "a long session": join("group-1", session_timeout_ms=10_000_000),
        "an unknown member": join("group-1", "nobody"),
        "no protocol": join("group-1", protocols=()),
        "no kind": join("group-1", kind=""),
    }
    steps = []
    for what, request in bad_joins.items():
        steps += ask(f"JoinGroup with {what}", (0, 3, 4, 5, 7, 9), request)
    identities = [MemberIdentity("nobody", None, None), MemberIdentity("", "static", "why")]
    for group in ("group-1", ""):
        steps += [
            *ask(f"SyncGroup of '{group}' by nobody", (0, 3, 5), SyncGroupRequest(
                group, 1, "nobody", None, "consumer", "range", [])),
            *ask(f"Heartbeat to '{group}' of nobody", range(5), HeartbeatRequest(
                group, 1, "nobody", None)),
            *ask(f"Heartbeat to '{group}' of a static nobody", (3, 4), HeartbeatRequest(
                group, 1, "nobody", "static")),
            *ask(f"LeaveGroup '{group}' by nobody", range(6), LeaveGroupRequest(
                group, "nobody", identities)),
        ]  # fmt: skip
    return [
        *steps,
        *ask("LeaveGroup by none", (3, 5), LeaveGroupRequest("group-1", "", [])),
        *ask("SyncGroup without protocol", 5, SyncGroupRequest(
            "group-1", 1, "nobody", None, None, None, [])),
    ]  # fmt: skip


def two_member_steps(version: int) -> Script:
    """A member joins alone, a second one joins, it leaves again: three generations."""
    group = f"pair-v{version}"
    sync_version = {0: 0, 3: 2, 4: 2, 5: 3}.get(version, 5)
    beat_version = min(sync_version, 4)

    def turn(what: str, version: int, request: Any, who: str, **options: Any) -> list[Step]:
        return ask(f"{group}: {what}", version, request, connection=WIRES[who], **options)

    def enter(who: str) -> list[Step]:
        """KIP-394: from v4 on the first join only gives out an id."""
        if version < 4:
            return []
        return turn(f"{who} asks", version, join(group), who, learn=learn_member(who))

    def first_id(who: str) -> Any:
        return known_member(who) if version >= 4 else ""

    leave = leave_of(group, SECOND)
    return [
        *enter(FIRST),
        *turn("first joins", version, join(group, first_id(FIRST)), FIRST,
              learn=learn_member(FIRST)),
        *turn("heartbeat before sync", beat_version, beat(group, FIRST), FIRST),
        *turn("sync by another protocol", sync_version, sync(
            group, FIRST, protocol="sticky"), FIRST),
        *turn("first syncs", sync_version, sync(group, FIRST, (FIRST, b"all")), FIRST),
        *turn("first syncs again", sync_version, sync(group, FIRST), FIRST),
        *turn("heartbeat", beat_version, beat(group, FIRST), FIRST),
        *turn("heartbeat of an old generation", beat_version, beat(
            group, FIRST, generation=0), FIRST),
        *ask(f"{group}: commit in the generation", 5, commit(
            group, ("records", 0, 5), member=FIRST)),
        *ask(f"{group}: commit in another", 5, commit(
            group, ("records", 0, 6), member=FIRST, generation=9)),
        *ask(f"{group}: commit from outside", 5, commit(group, ("records", 0, 7))),
        *ask(f"{group}: commit by nobody", 5, commit(
            group, ("records", 0, 8), member="nobody", generation=1)),
        *ask(f"{group}: join by another protocol", version, join(
            group, protocols=(("sticky", b"meta"),))),
        *ask(f"{group}: join as another kind", version, join(group, kind="connect")),
        *enter(SECOND),
        *turn("second joins", version, join(
            group, first_id(SECOND), protocols=(("range", b"other"), ("sticky", b"x"))),
            SECOND, receive=False),
        *turn("heartbeat while rebalancing", beat_version, beat(group, FIRST), FIRST,
              until=lambda answer: answer.error_code == 27),
        *turn("sync while rebalancing", sync_version, sync(group, FIRST), FIRST),
        *turn("first rejoins", version, join(group, known_member(FIRST)), FIRST,
              learn=learn_member(FIRST)),
        Awaited(f"{group}: second has joined", WIRES[SECOND], learn_member(SECOND)),
        *turn("second syncs", sync_version, sync(group, SECOND), SECOND, receive=False),
        *turn("first syncs both", sync_version, sync(
            group, FIRST, (FIRST, b"left"), (SECOND, b"right")), FIRST),
        Awaited(f"{group}: second has synced", WIRES[SECOND]),
        *describe_steps(group),
        *ask(f"{group}: delete while in use", (0, 2, 3), DeleteGroupsRequest([group])),
        *turn("second leaves", min(version, 5), leave, SECOND),
        *turn("heartbeat after leaving", beat_version, beat(group, SECOND), SECOND),
        *turn("heartbeat after another left", beat_version, beat(group, FIRST), FIRST,
              until=lambda answer: answer.error_code == 27),
        *turn("first rejoins alone", version, join(group, known_member(FIRST)), FIRST,
              learn=learn_member(FIRST)),
        *turn("first leaves", min(version, 5), leave_of(group, FIRST), FIRST),
        *describe_steps(group),
    ]  # fmt: skip


def leave_of(group: str, who: str) -> Any:
    def build(known: Known) -> LeaveGroupRequest:
        return LeaveGroupRequest(group, known[who], [MemberIdentity(known[who], None, "done")])

    return build


def describe_steps(group: str) -> list[Step]:
    return [
        *ask(f"{group}: describe", range(7), DescribeGroupsRequest([group], False)),
        *ask(f"{group}: describe with operations", (3, 6), DescribeGroupsRequest([group], True)),
    ]


def static_member_steps() -> Script:
    """KIP-345: a static member comes back under a new id and keeps its assignment."""
    group = "static"

    def turn(what: str, version: int, request: Any, **options: Any) -> list[Step]:
        return ask(f"{group}: {what}", version, request, connection="first", **options)

    def as_instance(request: Any) -> Any:
        def build(known: Known) -> object:
            message = request(known)
            message.group_instance_id = "one"
            return message

        return build

    def old_beat(known: Known) -> HeartbeatRequest:
        return HeartbeatRequest(group, known["generation"], known["old id"], "one")

    def keep_old(known: Known, answer: Any) -> None:
        known["old id"] = answer.member_id
        learn_member(FIRST)(known, answer)

    leave = LeaveGroupRequest(group, "", [MemberIdentity("", "one", None)])
    return [
        *turn("joins", 7, join(group, instance="one"), learn=keep_old),
        *turn("syncs", 5, as_instance(sync(group, FIRST, (FIRST, b"all")))),
        *turn("joins again", 7, join(group, instance="one"), learn=learn_member(FIRST)),
        *turn("syncs again", 5, as_instance(sync(group, FIRST))),
        *turn("the old id beats", 4, old_beat),
        *turn("the new id beats", 4, as_instance(beat(group, FIRST))),
        *describe_steps(group),
        *turn("leaves", 5, leave),
        *turn("leaves again", 5, leave),
        *turn("joins by v9", 9, join(group, instance="one"), learn=keep_old),
        *turn("joins by v9 again", 9, join(group, instance="one"), learn=learn_member(FIRST)),
        *turn("leaves at last", 3, leave),
    ]


def admin_steps() -> list[Step]:
    return [
        *ask("ListGroups", range(6), ListGroupsRequest([], [])),
        *ask("ListGroups that are empty", (4, 5), ListGroupsRequest(["Empty"], [])),
        *ask("ListGroups that are stable", (4, 5), ListGroupsRequest(["stable"], [])),
        *ask("ListGroups in an odd state", (4, 5), ListGroupsRequest(["Odd"], [])),
        *ask("ListGroups that are classic", 5, ListGroupsRequest([], ["classic"])),
        *ask("ListGroups of an odd type", 5, ListGroupsRequest([], ["odd"])),
        *ask("DescribeGroups of unknown", range(7), DescribeGroupsRequest(["nobody's"], False)),
        *ask("DescribeGroups of none", (0, 6), DescribeGroupsRequest([], False)),
        *ask("DescribeGroups of an empty name", (0, 6), DescribeGroupsRequest([""], False)),
        *ask("DeleteGroups of unknown", range(4), DeleteGroupsRequest(["nobody's"])),
        *ask("DeleteGroups of an empty name", (0, 3), DeleteGroupsRequest([""])),
        *ask("DeleteGroups", 2, DeleteGroupsRequest(["pair-v0", "pair-v9"])),
        *ask("DeleteGroups again", 2, DeleteGroupsRequest(["pair-v0"])),
        *ask("ListGroups after all", 5, ListGroupsRequest([], [])),
    ]


def group_steps(random: Random) -> Script:
    return [
        *coordinator_steps(),
        *bad_member_steps(),
        *(step for version in JOIN_VERSIONS for step in two_member_steps(version)),
        *static_member_steps(),
        *offset_steps(random),
        *admin_steps(),
    ]
