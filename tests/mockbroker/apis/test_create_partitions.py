"""CreatePartitions as a client sees it; the controller's tests have the refusals."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.topics import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from tests.support.core import Core


def ask(
    core: Core, version: int, *topics: CreatePartitionsTopic, validate_only: bool = False
) -> list[tuple[str, int, str | None]]:
    request = CreatePartitionsRequest(list(topics), validate_only=validate_only)
    answer = core.client().call(request, version, CreatePartitionsResponse)
    return [(each.name, each.error_code, each.error_message) for each in answer.results]


@pytest.mark.parametrize("version", range(4))
def test_topics_grow(version: int) -> None:
    core = Core(topics={"t": 1, "u": 1})
    assert ask(
        core,
        version,
        CreatePartitionsTopic("t", 3, None),
        CreatePartitionsTopic("u", 2, [CreatePartitionsAssignment([1])]),
        CreatePartitionsTopic("nope", 2, None),
    ) == [("t", 0, None), ("u", 0, None), ("nope", 3, None)]
    assert {name: len(t.partitions) for name, t in core.cluster.metadata.topics.items()} == {
        "t": 3,
        "u": 2,
    }


def test_no_assignments_are_not_the_same_as_null() -> None:
    assert ask(Core(topics={"t": 1}), 3, CreatePartitionsTopic("t", 3, [])) == [
        (
            "t",
            39,
            (
                "Attempted to add 2 additional partition(s), but only 0 assignment(s) were "
                "specified."
            ),
        )
    ]


def test_growth_may_be_validated_alone() -> None:
    core = Core(topics={"t": 1})
    growth = CreatePartitionsTopic("t", 3, None)
    assert ask(core, 3, growth, validate_only=True) == [("t", 0, None)]
    assert len(core.cluster.metadata.topics["t"].partitions) == 1
