"""The admin of the simulation: topics go, come back with another id, and grow.

It speaks the admin APIs over the wire. When an answer is lost it looks at the metadata first, so
nothing is deleted or created twice; whatever the metadata say is what it goes on from.

Invariant: one request at a time; it never asks for what the last metadata rule out.
"""

from __future__ import annotations

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from simulation.clients import Client

CREATE_VERSION = 7
DELETE_VERSION = 6
GROW_VERSION = 3
MAX_PARTITIONS = 6
SEGMENT_CONFIG = "internal.segment.bytes"


class Admin(Client):
    """Changes topics every now and then, if the plan has that; else it only creates them."""

    busy = False

    @property
    def idle(self) -> bool:
        """Whether it was stopped and has an answer to everything."""
        return self.stopped and not self.busy

    def ready(self) -> None:
        self.busy = True
        self.learn_topics(self._rest)

    def _rest(self) -> None:
        self.busy = False
        mean_ms = self.plan.active_ms / 8
        self.after(self.rng.expovariate(1 / mean_ms) * self.plan.time_scale, self._act)

    def _act(self) -> None:
        if self.stopped:
            return
        name = self.rng.choice(self.names)
        known = self.topics.get(name)
        if known is None:
            self.create(name, self.rng.randint(1, 4))
        elif self.plan.on["delete_topics"] and self.rng.random() < 0.5:
            self.delete(name)
        elif self.plan.on["add_partitions"] and len(known.leader_epochs) < MAX_PARTITIONS:
            self.grow(name, len(known.leader_epochs) + 1)
        else:
            self._rest()

    def create(self, name: str, partitions: int) -> None:
        """Create a topic that is not there."""
        configs: list[CreatableTopicConfig] = []
        if self.plan.segment_bytes is not None:
            configs.append(CreatableTopicConfig(SEGMENT_CONFIG, str(self.plan.segment_bytes)))
        request = CreateTopicsRequest([CreatableTopic(name, partitions, 1, [], configs)])
        self._change(f"create {name}", f" of {partitions}", request, CREATE_VERSION)

    def delete(self, name: str) -> None:
        """Delete a topic that is there."""
        request = DeleteTopicsRequest([DeleteTopicState(name)])
        self._change(f"delete {name}", "", request, DELETE_VERSION)

    def grow(self, name: str, partitions: int) -> None:
        """Give a topic more partitions."""
        request = CreatePartitionsRequest([CreatePartitionsTopic(name, partitions, None)])
        self._change(f"grow {name}", f" to {partitions}", request, GROW_VERSION)

    def _change(self, what: str, detail: str, request: object, version: int) -> None:
        """Ask for a change of one topic, which must be accepted; then look at the metadata."""

        def done(answer: object) -> None:
            error = _topic_error(answer)
            if error != ErrorCode.NONE:
                self.world.violate(f"{self.name}: {what} answers {error}")
            self.ready()

        self.busy = True
        self.world.note(self.name, what + detail)
        self.call(request, version, object, done)


def _topic_error(answer: object) -> int:
    if isinstance(answer, CreateTopicsResponse):
        return answer.topics[0].error_code
    if isinstance(answer, DeleteTopicsResponse):
        return answer.responses[0].error_code
    assert isinstance(answer, CreatePartitionsResponse)
    return answer.results[0].error_code
