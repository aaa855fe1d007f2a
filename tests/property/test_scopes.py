"""Whatever happens in a scope, the state after it equals that of before, field by field.

Actions of the whole API are drawn: some before the scope, so that there is something to come back
to, then some in it and in scopes within it. A group in which a member lives when the scope begins
is left out: who left meanwhile does not come back. So are links that are broken when it begins: a
broker that was cut off has heard, in a scope that mended the link, what it had missed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.cluster.node_controls import ControlError
from mockbroker.faults.errors import FaultError
from mockbroker.metadata.acls import Acl, PatternType, Permission, ResourceType
from mockbroker.metadata.changes import AclsChanged, ClientQuotasChanged
from mockbroker.metadata.features import FEATURES, FeatureUpdate, update_features
from mockbroker.metadata.store import (
    RESOURCE_BROKER,
    RESOURCE_BROKER_LOGGER,
    RESOURCE_CLIENT_METRICS,
    RESOURCE_GROUP,
)
from mockbroker.metadata.topic_requests import ConfigAlteration, NewPartitions
from mockbroker.state import topics
from mockbroker.state.groups import (
    GroupError,
    commit_offsets,
    delete_group,
    ensure_coordinators,
)
from mockbroker.state.transactions import forget
from mockbroker.state.writing import (
    NewRecord,
    TopicError,
    create_topic,
    delete_records,
    delete_topic,
    put,
)
from tests.support.cluster_core import ClusterCore
from tests.support.core import Core
from tests.support.group_calls import consumer_heartbeat, stable_group
from tests.support.requests import produce
from tests.support.scoped import Scoped
from tests.support.transactions import Transactional

if TYPE_CHECKING:
    from collections.abc import Callable

    Action = Callable[[Scoped, int], object]

REFUSALS = (TopicError, GroupError, ControlError, FaultError, KeyError)
NAMES = ("t", "u", "v")


def topic(number: int) -> str:
    return NAMES[number % 3]


def put_records(scoped: Scoped, number: int) -> None:
    records = [NewRecord(bytes(40), b"%d" % (at % 3)) for at in range(1 + number % 7)]
    put(scoped.cluster, topic(number), records)


def produce_record(scoped: Scoped, number: int) -> None:
    if scoped.cluster.broker(1) is not None:
        client = scoped.core.client()
        client.send(produce(topic(number)), 9)
        client.disconnect()


def create(scoped: Scoped, number: int) -> None:
    configs = {"segment.bytes": "100"} if number % 2 else {"cleanup.policy": "compact"}
    create_topic(scoped.cluster, topic(number), 1 + number % 3, configs=configs)


def delete(scoped: Scoped, number: int) -> None:
    delete_topic(scoped.cluster, topic(number))


def grow(scoped: Scoped, number: int) -> None:
    scoped.cluster.controller.create_partitions(
        [NewPartitions(topic(number), 2 + number % 4)], validate_only=False
    )


def configure_topic(scoped: Scoped, number: int) -> None:
    configs = {"retention.ms": str(1 + number), "min.insync.replicas": None}
    topics.alter(scoped.cluster, topic(number), None, configs)


def cut_records(scoped: Scoped, number: int) -> None:
    delete_records(scoped.cluster, topic(number))


def commit(scoped: Scoped, number: int) -> None:
    commit_offsets(scoped.cluster, f"g{number % 3}", {(topic(number), 0): number})


def forget_group(scoped: Scoped, number: int) -> None:
    delete_group(scoped.cluster, f"g{number % 3}")


CONFIGS = (
    (RESOURCE_BROKER, "", "log.retention.ms", "5000"),
    (RESOURCE_BROKER, "", "log.retention.ms", "7000"),
    (RESOURCE_BROKER, "1", "log.retention.bytes", "70"),
    (RESOURCE_BROKER_LOGGER, "1", "root", "DEBUG"),
    (RESOURCE_BROKER_LOGGER, "1", "root", "TRACE"),
    (RESOURCE_CLIENT_METRICS, "s", "metrics", "org.apache."),
    (RESOURCE_GROUP, "g0", "consumer.session.timeout.ms", "50000"),
)


def configure(scoped: Scoped, number: int) -> None:
    kind, name, key, value = CONFIGS[number % len(CONFIGS)]
    alteration = ConfigAlteration(kind, name, [(key, number % 2 and kind != 8, value)])
    scoped.cluster.controller.alter_configs([alteration], validate_only=False)


def limit(scoped: Scoped, number: int) -> None:
    entity = ((("user", "client-id")[number % 2], ("a", None)[number // 2 % 2]),)
    values = {"producer_byte_rate": float(number)} if number % 3 else {}
    scoped.cluster.metadata.apply(ClientQuotasChanged(entity, values))


def allow(scoped: Scoped, number: int) -> None:
    made = Acl(
        ResourceType.TOPIC,
        topic(number),
        PatternType.LITERAL,
        "User:A",
        "*",
        3 + number % 2,
        Permission.ALLOW,
    )
    known = made in scoped.cluster.metadata.acls
    scoped.cluster.metadata.apply(AclsChanged(() if known else (made,), (made,) if known else ()))


def change_feature(scoped: Scoped, number: int) -> None:
    update = FeatureUpdate(("group.version", "transaction.version")[number % 2], number % 3, 2)
    update_features(scoped.cluster.metadata, [update], FEATURES, 1, validate_only=False)


def arm(scoped: Scoped, number: int) -> None:
    rule = {"id": f"f{number % 3}", "api": "Produce", "error": "REQUEST_TIMED_OUT", "count": 2}
    scoped.cluster.faults.add(rule, {"api": "Fetch", "delay_ms": 5, "for_ms": 900})


def disarm(scoped: Scoped, number: int) -> None:
    if number % 4 == 0:
        scoped.cluster.faults.clear()
    else:
        scoped.cluster.faults.remove(f"f{number % 3}")


def let_time_pass(scoped: Scoped, number: int) -> None:
    scoped.advance((1, 900, 6_000, 400_000)[number % 4])


def jump(scoped: Scoped, number: int) -> None:
    scoped.keeper.jump((-7_200_000, 86_400_000, -5)[number % 3])


def change_rate(scoped: Scoped, number: int) -> None:
    scoped.keeper.set_rate(1 + number)


def hold_high_watermark(scoped: Scoped, number: int) -> None:
    controls = scoped.cluster.controls
    (controls.release_high_watermark, controls.hold_high_watermark)[number % 2](topic(number), 0)


def unregister(scoped: Scoped, number: int) -> None:
    scoped.cluster.controller.replication.unregister(1 + number % 3)


def push_metrics(scoped: Scoped, number: int) -> None:
    for broker in scoped.cluster.brokers:
        if broker.services.quotas is not None:
            broker.services.quotas.charge("producer_byte_rate", "User:A", "a", float(number))


def place(scoped: Scoped, number: int) -> None:
    for broker in scoped.cluster.brokers:
        log_dirs = broker.services.replicas.log_dirs
        log_dirs.move(topic(number), number, log_dirs.paths[-1])


ANYWHERE: list[Action] = [
    allow,
    arm,
    change_feature,
    change_rate,
    commit,
    configure,
    configure_topic,
    create,
    cut_records,
    delete,
    disarm,
    forget_group,
    grow,
    hold_high_watermark,
    jump,
    let_time_pass,
    limit,
    place,
    produce_record,
    push_metrics,
    put_records,
]


def join(scoped: Scoped, number: int) -> None:
    stable_group(scoped.core.client(), f"j{number}")


def join_consumers(scoped: Scoped, number: int) -> None:
    consumer_heartbeat(scoped.core.client(), f"m{number}", topics=[topic(number)])


def transact(scoped: Scoped, number: int) -> None:
    if "t" not in scoped.cluster.metadata.topics:
        return
    producer = Transactional.begin(scoped.core, f"x{number % 2}")
    producer.add({"t": [0]})
    producer.write("t", 0, "value")
    if number % 3:
        producer.end(commit=number % 3 == 1)


def give_up(scoped: Scoped, number: int) -> None:
    forget(scoped.cluster, f"x{number % 2}")


ALONE: list[Action] = [join, join_consumers, transact, give_up]


def kill(scoped: Scoped, number: int) -> None:
    scoped.cluster.controls.kill(1 + number % 3, fence=number % 2 == 0)


def stop(scoped: Scoped, number: int) -> None:
    scoped.cluster.controls.stop(1 + number % 3)


def revive(scoped: Scoped, number: int) -> None:
    scoped.cluster.controls.revive(1 + number % 3)


def fence(scoped: Scoped, number: int) -> None:
    controls = scoped.cluster.controls
    (controls.fence, controls.unfence)[number // 3 % 2](1 + number % 3)


def skew(scoped: Scoped, number: int) -> None:
    scoped.cluster.controls.skew_clock(1 + number % 3, number * 100)


def move_leader(scoped: Scoped, number: int) -> None:
    scoped.cluster.controls.move_leader(topic(number), 0, 1 + number % 3)


def reassign(scoped: Scoped, number: int) -> None:
    scoped.cluster.controls.reassign(topic(number), 0, [1 + number % 3, 1 + (number + 1) % 3])


AMONG_OTHERS: list[Action] = [kill, stop, revive, fence, skew, move_leader, reassign]


def break_link(scoped: Scoped, number: int) -> None:
    controls = scoped.cluster.controls
    source, target = (1 + number % 3, (1 + (number + 1) % 3, CONTROLLER)[number // 3 % 2])
    if number % 4 == 0:
        controls.restore_link(source, target)
    elif number % 4 == 1:
        controls.slow_link(source, target, 20)
    else:
        (controls.cut_link, controls.hold_link)[number % 2](source, target)


def hold_follower(scoped: Scoped, number: int) -> None:
    controls, node_id = scoped.cluster.controls, 1 + number % 3
    controls.hold_follower(topic(number), 0, node_id)
    if number % 2:
        controls.shrink_isr(topic(number), 0, node_id)


def tell_high_watermark(scoped: Scoped, number: int) -> None:
    scoped.cluster.controls.tell_high_watermark(tell=number % 2 == 0)


INSIDE: list[Action] = [break_link, hold_follower, tell_high_watermark, unregister]

NUMBERS = st.integers(0, 11)


def act(scoped: Scoped, action: Action, number: int) -> None:
    if action in (let_time_pass, jump, change_rate):
        action(scoped, number)
    elif action in (join, join_consumers, transact):
        with suppress(AssertionError):  # a fault rule, or no coordinator, refused the client
            action(scoped, number)
    else:
        with suppress(*REFUSALS):
            scoped.core.act(lambda: action(scoped, number))
    scoped.core.deliver()


def check(scoped: Scoped, before: list[tuple[Action, int]], inside: list[object]) -> None:
    scoped.cluster.faults.clear()  # they are there from now on
    create_topic(scoped.cluster, "t", 2)
    ensure_coordinators(scoped.cluster)
    scoped.settle()
    for action, number in before:
        act(scoped, action, number)
    scoped.advance(20_000)  # whom nobody hears of is fenced by then
    with scoped.unchanged():
        for step in inside:
            if isinstance(step, list):
                scoped.settle()
                end = scoped.begin()
                for action, number in step:
                    act(scoped, action, number)
                end()
                scoped.core.deliver()
            else:
                assert isinstance(step, tuple)
                act(scoped, *step)
    scoped.core.act(scoped.scopes.reset)
    scoped.settle()
    assert not scoped.cluster.metadata.topics


def steps(*actions: Action) -> st.SearchStrategy[list[tuple[Action, int]]]:
    return st.lists(st.tuples(st.sampled_from(actions), NUMBERS), max_size=6)


def nested(*actions: Action) -> st.SearchStrategy[list[object]]:
    step = st.tuples(st.sampled_from(actions), NUMBERS)
    return st.lists(st.one_of(step, step, step, steps(*actions)), max_size=8)


OFTEN = {"log.initial.task.delay.ms": "1000", "log.retention.check.interval.ms": "1000"}
"""What is due by retention is gone before a scope begins, however long this one takes."""


@example([(configure, 0), (produce_record, 0)], [[]] * 6)
@settings(max_examples=60)
@given(steps(*ANYWHERE), nested(*ANYWHERE, *ALONE, unregister))
def test_a_broker_is_as_it_was(before: list[tuple[Action, int]], inside: list[object]) -> None:
    check(Scoped(Core(config=OFTEN)), before, inside)


@example([(create, 2), (fence, 0), (commit, 2)], [(commit, 8)])  # broker 1 led, and follows
@example([(limit, 1), (push_metrics, 0)], [(kill, 0)])
@example([(stop, 3)], [[(revive, 3), (configure, 8)]])
@settings(max_examples=15)
@given(steps(*ANYWHERE, *AMONG_OTHERS), nested(*ANYWHERE, *AMONG_OTHERS, *INSIDE))
def test_three_brokers_are_as_they_were(
    before: list[tuple[Action, int]], inside: list[object]
) -> None:
    check(Scoped(ClusterCore(config=OFTEN)), before, inside)
