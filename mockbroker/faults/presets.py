"""Ready-made faults by name: what a cluster does on a bad day, each as the rules that make it.

`preset("leader_moved", topic="orders")` gives a list of `Fault` for `FaultSet.add`; the same name
works as {"preset": "leader_moved", "topic": "orders"} wherever rules are plain data. docs/faults.md
says what clients do with each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from mockbroker.faults.errors import FaultError
from mockbroker.faults.fault import Delay, Fault
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import FENCED_SINCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GROUP_APIS: Final = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch")
LAST: Final = 32767
TRANSACTION_APIS: Final = ("AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn")


def leader_moved(
    topic: str | None = None,
    partition: int | None = None,
    *,
    client: str | None = None,
    count: int = 1,
) -> list[Fault]:
    """The next `count` Produce and as many Fetch are told that the leader is elsewhere."""
    moved = Fault(
        api="Produce",
        topic=topic,
        partition=partition,
        client=client,
        count=count,
        error="NOT_LEADER_OR_FOLLOWER",
    )
    return [moved, replace(moved, api="Fetch")]


def coordinator_loading(
    group: str | None = None, *, client: str | None = None, count: int = 3
) -> list[Fault]:
    """The next `count` requests to a group's coordinator find it loading its log."""
    return [
        Fault(
            api=GROUP_APIS,
            group=group,
            client=client,
            count=count,
            error="COORDINATOR_LOAD_IN_PROGRESS",
        )
    ]


def not_enough_replicas(
    topic: str | None = None,
    partition: int | None = None,
    *,
    client: str | None = None,
    count: int = 3,
) -> list[Fault]:
    """The next `count` Produce are refused: too few replicas are in sync."""
    return [
        Fault(
            api="Produce",
            topic=topic,
            partition=partition,
            client=client,
            count=count,
            error="NOT_ENOUGH_REPLICAS",
        )
    ]


def rolling_restart(
    brokers: tuple[int, ...] | int | None = None,
    *,
    down_ms: float = 2_000,
    pause_ms: float = 1_000,
    loading: int = 3,
) -> list[Fault]:
    """One broker after the other is down: its connections end, new ones are refused.

    Without `brokers` all are down at once. Behind it the coordinators load their logs.
    """
    nodes = (brokers,) if brokers is None or isinstance(brokers, int) else tuple(brokers)
    rules: list[Fault] = []
    for number, node in enumerate(nodes):
        begin = number * (down_ms + pause_ms)
        rules.append(Fault(broker=node, after_ms=begin, for_ms=down_ms, refuse=True))
        if loading:
            (load,) = coordinator_loading(count=loading)
            rules.append(replace(load, broker=node, after_ms=begin + down_ms))
    return rules


def fenced_producer(transactional_id: str | None = None, *, count: int = 1) -> list[Fault]:
    """Another producer took over the transactional id: the next request of this one is fenced."""
    fenced = Fault(
        api="Produce",
        transactional_id=transactional_id,
        count=count,
        error="INVALID_PRODUCER_EPOCH",
    )
    # KafkaApis: clients that do not know PRODUCER_FENCED are told INVALID_PRODUCER_EPOCH.
    first = FENCED_SINCE[ApiKey.END_TXN]
    old = replace(fenced, api=TRANSACTION_APIS, versions=(0, first - 1))
    new = replace(old, versions=(first, LAST), error="PRODUCER_FENCED")
    return [fenced, old, new]


def session_evicted(*, client: str | None = None, count: int = 1) -> list[Fault]:
    """The next `count` fetches find their fetch session gone (error 70)."""
    return [Fault(api="Fetch", versions=(7, 18), client=client, count=count, evict_session=True)]


def throttled(
    throttle_ms: int = 1_000, *, client: str | None = None, count: int | None = None
) -> list[Fault]:
    """Answers to Produce and Fetch tell the client to wait, as a quota does."""
    return [Fault(api=("Produce", "Fetch"), client=client, count=count, throttle_ms=throttle_ms)]


def slow_disk(
    mean_ms: float = 200, deviation_ms: float = 100, *, topic: str | None = None
) -> list[Fault]:
    """Produce and Fetch take long, now more, now less."""
    delay = Delay(mean=mean_ms, deviation=deviation_ms)
    return [Fault(api=("Produce", "Fetch"), topic=topic, delay_ms=delay)]


def poison_batch(
    topic: str | None = None,
    partition: int | None = None,
    *,
    client: str | None = None,
    count: int = 1,
) -> list[Fault]:
    """The next `count` fetches that get records get a batch with a false checksum."""
    return [
        Fault(
            api="Fetch", topic=topic, partition=partition, client=client, count=count, bad_crc=True
        )
    ]


PRESETS: Final[Mapping[str, Callable[..., list[Fault]]]] = {
    made.__name__: made
    for made in (
        leader_moved,
        coordinator_loading,
        not_enough_replicas,
        rolling_restart,
        fenced_producer,
        session_evicted,
        throttled,
        slow_disk,
        poison_batch,
    )
}


def preset(name: str, **arguments: object) -> list[Fault]:
    """The rules of a preset. Raises FaultError for an unknown name or argument."""
    made = PRESETS.get(name)
    if made is None:
        raise FaultError("preset", f"{name!r} is unknown", ", ".join(PRESETS))
    from inspect import signature

    known = signature(made).parameters
    for argument in arguments:
        if argument not in known:
            raise FaultError(argument, f"preset {name} has no such field", ", ".join(known))
    try:
        return [replace(rule, of_preset=name) for rule in made(**arguments)]
    except TypeError as error:
        raise FaultError("preset", f"{name}: {error}") from None


def parse(data: object) -> list[Fault]:
    """Rules from plain data: a rule, a preset, or a list of either. Raises FaultError."""
    if isinstance(data, list):
        return [fault for item in data for fault in parse(item)]
    if not isinstance(data, dict):
        raise FaultError("fault", f"{data!r} is no rule", "an object, or a list of objects")
    if "preset" in data:
        rest = {key: value for key, value in data.items() if key != "preset"}
        return preset(str(data["preset"]), **rest)
    return [Fault.from_dict(data)]
