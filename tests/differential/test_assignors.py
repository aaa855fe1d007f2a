"""Our assignors give what Apache Kafka's own classes give, to the partition, on random groups."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.group.consumer.assignment import (
    Assignments,
    GroupSpec,
    MemberSpec,
    Partitions,
)
from mockbroker.coordinator.group.consumer.assignors import assign
from tests.differential.conftest import kafka_libs

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

SOURCE = Path(__file__).parent / "java" / "Assignors.java"


class KafkaAssignors:
    """A JVM that runs Apache Kafka's assignors."""

    def __init__(self, class_path: str) -> None:
        self._process = subprocess.Popen(
            ["java", "-cp", class_path, str(SOURCE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(30)

    def assign(self, name: str, spec: GroupSpec) -> Assignments:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        lines = [f"topic {one.hex()} {count}" for one, count in spec.partition_counts.items()]
        # In ascending order, as our assignors take them: a HashSet of few keeps that of arrival.
        lines += [
            f"member {member_id} {member.instance_id or '-'} "
            f"{','.join(one.hex() for one in sorted(member.topic_ids)) or '-'} "
            f"{_text(member.assigned)}"
            for member_id, member in spec.members.items()
        ]
        kind = "homogeneous" if spec.is_homogeneous else "heterogeneous"
        stdin.write("\n".join((*lines, f"go {name} {kind}", "")))
        stdin.flush()
        assignments: Assignments = {}
        while (line := stdout.readline().strip()) != "end":
            member_id, text = line.split(" ")
            assignments[member_id] = _parsed(text)
        return assignments


def _text(partitions: Partitions) -> str:
    return (
        ",".join(
            f"{topic_id.hex()}:{'.'.join(map(str, indexes))}"
            for topic_id, indexes in partitions.items()
        )
        or "-"
    )


def _parsed(text: str) -> Partitions:
    if text == "-":
        return {}
    pairs = [one.split(":") for one in text.split(",")]
    return {bytes.fromhex(one): tuple(map(int, indexes.split("."))) for one, indexes in pairs}


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaAssignors]:
    running = KafkaAssignors(kafka_libs())
    yield running
    running.close()


def _sorted(assignments: Assignments, spec: GroupSpec) -> Assignments:
    return {
        member_id: {
            topic_id: tuple(sorted(indexes))
            for topic_id, indexes in sorted(assignments.get(member_id, {}).items())
        }
        for member_id in sorted(spec.members)
    }


class RandomGroup:
    """A group that members join and leave, and whose topics grow."""

    def __init__(self, random: Random, *, homogeneous: bool) -> None:
        self.random = random
        self.homogeneous = homogeneous
        self.counts = {
            random.randbytes(16): random.randint(1, 40) for _ in range(random.randint(1, 6))
        }
        self.members: dict[str, tuple[str | None, frozenset[bytes]]] = {}
        self.target: Assignments = {}

    def change(self) -> None:
        random = self.random
        for _ in range(random.randint(1, 4)):
            if random.random() < 0.65 or not self.members:
                number = random.randrange(10_000)
                instance = f"i{number}" if random.random() < 0.3 else None
                self.members[f"member-{number}"] = instance, self._topics()
            else:
                gone = random.choice(sorted(self.members))
                del self.members[gone]
                self.target.pop(gone, None)
        if random.random() < 0.3:
            self.counts[random.choice(list(self.counts))] += random.randint(1, 5)

    def _topics(self) -> frozenset[bytes]:
        topics = list(self.counts)
        if self.homogeneous:
            return frozenset(topics)
        return frozenset(self.random.sample(topics, self.random.randint(0, len(topics))))

    def spec(self) -> GroupSpec:
        members = {
            member_id: MemberSpec(topics, self.target.get(member_id, {}), instance)
            for member_id, (instance, topics) in self.members.items()
        }
        owners = {
            (topic_id, index): member_id
            for member_id, partitions in self.target.items()
            for topic_id, indexes in partitions.items()
            for index in indexes
        }
        return GroupSpec(members, self.counts, owners, is_homogeneous=self.homogeneous)


@pytest.mark.parametrize("homogeneous", [True, False], ids=["homogeneous", "heterogeneous"])
@pytest.mark.parametrize("name", ["uniform", "range"])
def test_a_group_that_changes_gets_the_same_targets(
    kafka: KafkaAssignors, name: str, *, homogeneous: bool
) -> None:
    for seed in range(60):
        group = RandomGroup(Random(f"{name}{homogeneous}{seed}"), homogeneous=homogeneous)
        for step in range(8):
            group.change()
            if not group.members:
                continue
            spec = group.spec()
            ours = _sorted(assign(name, spec), spec)
            assert ours == _sorted(kafka.assign(name, spec), spec), (seed, step)
            group.target = ours
