"""Client quotas: who may have which, and what a filter finds. None is left, nobody is throttled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    ComponentData,
    DescribeClientQuotasRequest,
    EntityData,
    OpData,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.differential.record_steps import EPOCH_MS, Target, offsets_ready, produce
from tests.differential.steps import ask
from tests.differential.topic_steps import create, settled, topic
from tests.differential.wire import CLIENT_ID

if TYPE_CHECKING:
    from tests.differential.steps import Step

PRODUCE, CONSUME = "producer_byte_rate", "consumer_byte_rate"
REQUEST, MUTATION = "request_percentage", "controller_mutation_rate"
CREATION = "connection_creation_rate"
MUCH = 1e12
USER, CLIENT, IP = "user", "client-id", "ip"
EXACT, DEFAULT, ANY = range(3)

RECORDS = "quota-records"

Entity = tuple[tuple[str, str | None], ...]
Op = tuple[str, float, bool]
U: Entity = ((USER, "u"),)
ENTITIES: list[Entity] = [
    U, ((USER, None),), ((CLIENT, "c"),), ((CLIENT, None),), ((USER, "u"), (CLIENT, "c")),
    ((USER, None), (CLIENT, None)), ((USER, "u"), (CLIENT, None)),
]  # fmt: skip
BAD: list[tuple[Entity, list[Op]]] = [
    (U, [(PRODUCE, 0.0, False)]), (U, [(PRODUCE, -1.0, False)]), (U, [(PRODUCE, 1.5, False)]),
    (U, [("nope", 1.0, False)]), (U, [(CREATION, 5.0, False)]), (U, [("nope", 0.0, True)]),
    (U, [(REQUEST, float("nan"), False)]), (U, [(REQUEST, float("inf"), False)]),
    (U, [(PRODUCE, 1e19, False)]), (U, [(PRODUCE, 1.0, False), (PRODUCE, 2.0, False)]),
    (U, []), (U, [(PRODUCE, MUCH, False), (CONSUME, 0.5, False)]),
    ((), [(PRODUCE, 1.0, False)]), ((("foo", "x"),), [(PRODUCE, 1.0, False)]),
    (((USER, ""),), [(PRODUCE, 1.0, False)]), (((IP, "no ip"),), [(CREATION, 5.0, False)]),
    (((IP, "127.0.0.1"),), [(PRODUCE, 5.0, False)]),
    (((IP, "127.0.0.1"),), [(CREATION, 5.5, False)]),
    (((IP, "127.0.0.1"), (USER, "u")), [(CREATION, 5.0, False)]),
]  # fmt: skip
FILTERS: list[list[tuple[str, int, str | None]]] = [
    [], [(USER, ANY, None)], [(USER, EXACT, "u")], [(USER, DEFAULT, None)], [(USER, DEFAULT, "x")],
    [(USER, EXACT, None)], [(USER, ANY, "x")], [(USER, 3, None)], [(USER, -1, None)],
    [("foo", EXACT, "x")], [("", EXACT, "x")], [(USER, EXACT, "u"), (CLIENT, EXACT, "c")],
    [(USER, EXACT, "u"), (USER, EXACT, "c")], [(IP, ANY, None)], [(CLIENT, ANY, None)],
    [(IP, EXACT, "127.0.0.1"), (USER, EXACT, "u")], [(USER, ANY, None), (CLIENT, ANY, None)],
    [(USER, EXACT, "nobody")],
]  # fmt: skip


def alter(
    *entries: tuple[Entity, list[Op]], validate_only: bool = False
) -> AlterClientQuotasRequest:
    return AlterClientQuotasRequest(
        [
            AlterClientQuotasRequestEntryData(
                [EntityData(*part) for part in entity],
                [OpData(*op) for op in ops],
            )
            for entity, ops in entries
        ],
        validate_only,
    )


def level_steps() -> list[Step]:
    """Which of several quotas that fit is in force, told by whether a producer is throttled.

    Each level in turn has the tight one, while those that are more special have none and the others
    a wide one; then it is the other way round. Who is throttled is left alone: each producer has a
    connection of its own.
    """
    me, my = (USER, "ANONYMOUS"), (CLIENT, CLIENT_ID)
    any_user, any_client = (USER, None), (CLIENT, None)
    levels: list[Entity] = [
        (me, my), (me, any_client), (me,), (any_user, my), (any_user, any_client), (any_user,),
        (my,), (any_client,),
    ]  # fmt: skip
    data = build_batch([Record(0, EPOCH_MS, None, b"v" * 2000)])
    steps = [
        *ask("CreateTopics for quotas", 7, create(topic(RECORDS))),
        *settled(RECORDS),
        *offsets_ready(RECORDS, 1),
    ]
    for number, level in enumerate(levels):
        for tight in (True, False):
            limits = {
                entity: 1.0 if (entity == level) is tight else MUCH for entity in levels[number:]
            }

            def until(answer: Any, limits: dict[Entity, float] = limits) -> bool:
                told = {
                    frozenset((part.entity_type, part.entity_name) for part in each.entity): (
                        each.values[0].value
                    )
                    for each in answer.entries
                }
                return told == {frozenset(who): limit for who, limit in limits.items()}

            changed = [(entity, [(PRODUCE, limit, False)]) for entity, limit in limits.items()]
            steps += [
                *ask(f"AlterClientQuotas: {level} is tight: {tight}", 1, alter(*changed)),
                *ask("DescribeClientQuotas until they are there", 1, DescribeClientQuotasRequest(),
                     until=until),
                *ask(f"Produce under {level}, tight: {tight}", 9, produce(Target(RECORDS), data),
                     connection=f"producer of {number}, {tight}"),
            ]  # fmt: skip
        steps += ask(
            f"AlterClientQuotas: {level} has none", 1, alter((level, [(PRODUCE, 0.0, True)]))
        )
    return steps


def quota_steps() -> list[Step]:
    every = DescribeClientQuotasRequest()
    addresses: list[Entity] = [((IP, "127.0.0.9"),), ((IP, None),)]
    set_all = [(entity, [(PRODUCE, MUCH, False), (REQUEST, 1e6, False)]) for entity in ENTITIES]
    set_all += [(entity, [(CREATION, 1e6, False)]) for entity in addresses]
    gone = [(entity, [(key, 0.0, True) for key in (PRODUCE, REQUEST, CREATION, MUTATION)])
            for entity in (*ENTITIES, *addresses)]  # fmt: skip
    return [
        *ask("DescribeClientQuotas when there are none", (0, 1), every),
        *(step for version, entry in enumerate(set_all)
          for step in ask(f"AlterClientQuotas of {entry[0]}", version % 2, alter(entry))),
        *ask("AlterClientQuotas, more of one", 1, alter((U, [(MUTATION, 2.5, False)]))),
        *ask("AlterClientQuotas validated", 1, alter(
            (((USER, "v"),), [(PRODUCE, MUCH, False)]), validate_only=True)),
        *(step for entity, ops in BAD
          for step in ask(f"AlterClientQuotas of {entity} to {ops}", 1, alter((entity, ops)))),
        *ask("AlterClientQuotas of an entity twice", 1, alter(
            (U, [(PRODUCE, MUCH, False)]), (U, [(PRODUCE, 7.0, False)]))),
        *ask("AlterClientQuotas, one of two bad", 1, alter(
            (U, [(PRODUCE, -7.0, False)]), (((USER, "w"),), [(PRODUCE, 0.0, True)]))),
        *ask("AlterClientQuotas of nothing", 1, alter()),
        *ask("DescribeClientQuotas", 0, every,
             until=lambda answer: len(answer.entries) == len(set_all)),
        *(step for each in FILTERS for strict in (False, True)
          for step in ask(f"DescribeClientQuotas {each} strict={strict}", 1,
                          DescribeClientQuotasRequest([ComponentData(*c) for c in each], strict))),
        *ask("AlterClientQuotas removes", 1, alter(*gone)),
        *ask("DescribeClientQuotas at the end", 1, every,
             until=lambda answer: not answer.entries),
        *level_steps(),
        *ask("DescribeClientQuotas after all levels", 1, every,
             until=lambda answer: not answer.entries),
    ]  # fmt: skip
