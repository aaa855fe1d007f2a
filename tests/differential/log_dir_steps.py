"""Log directories: DescribeLogDirs and AlterReplicaLogDirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from tests.differential.steps import ask
from tests.differential.topic_steps import create, settled, topic

if TYPE_CHECKING:
    from tests.differential.steps import Known, Step

NAME = "in-a-log-dir"


def describe(*wanted: tuple[str, list[int]]) -> DescribeLogDirsRequest:
    return DescribeLogDirsRequest([DescribableLogDirTopic(*each) for each in wanted])


def learn_dir(known: Known, answer: Any) -> None:
    known["log dir"] = answer.results[0].log_dir


def both_are_there(answer: Any) -> bool:
    """Kafka tells of a log before it knows how far its replica is."""
    return [
        [partition.offset_lag >= 0 for partition in each.partitions]
        for each in answer.results[0].topics
    ] == [[True, True]]


def log_dir_steps() -> list[Step]:
    def move(*moves: tuple[str | None, str, list[int]]) -> Any:
        def request(known: Known) -> AlterReplicaLogDirsRequest:
            return AlterReplicaLogDirsRequest(
                [
                    AlterReplicaLogDir(
                        known["log dir"] if path is None else path,
                        [AlterReplicaLogDirTopic(name, indexes)],
                    )
                    for path, name, indexes in moves
                ]
            )

        return request

    return [
        *ask("CreateTopics in a log dir", 7, create(topic(NAME, 2, 1))),
        *settled(NAME),
        *ask("DescribeLogDirs", range(1, 6), describe((NAME, [0, 1])), learn=learn_dir,
             until=both_are_there),
        *ask("DescribeLogDirs, one twice", 5, describe((NAME, [0, 0]))),
        *ask("DescribeLogDirs, unknown", 5, describe((NAME, [7]), ("no-such", [0]))),
        *ask("DescribeLogDirs of nothing", 5, describe()),
        *ask("AlterReplicaLogDirs to where it is", (1, 2), move((None, NAME, [0]))),
        *ask("AlterReplicaLogDirs to nowhere", 2, move(("/no/such", NAME, [0]))),
        *ask("AlterReplicaLogDirs to a relative path", 2, move(("data", NAME, [0]))),
        *ask("AlterReplicaLogDirs to no path", 2, move(("", NAME, [0]))),
        *ask("AlterReplicaLogDirs of an unknown topic", 2, move((None, "no-such", [0]))),
        *ask("AlterReplicaLogDirs, unknown to nowhere", 2, move(("/no/such", "no-such", [0]))),
        *ask("AlterReplicaLogDirs, one unknown", 2, move((None, NAME, [0, 9]))),
        *ask("AlterReplicaLogDirs, two wishes", 2, move(
            (None, NAME, [0]), ("/no/such", NAME, [0]))),
        *ask("AlterReplicaLogDirs of nothing", 2, move()),
    ]  # fmt: skip
