"""Those who ask brokers of the simulated cluster what they know, and compare all of the answer.

A question goes past the network, between two events (`World.exchange`): what the broker knows is
there to look at then, and the answer must say exactly that, nothing less and nothing more. The
questions are in `metadata_inquiries`, `config_inquiries` and `coordinator_inquiries`; each draws
what it asks for, also what there is not and what must be refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from mockbroker_protocol.headers import decode_response_header
from mockbroker_protocol.plan import decode
from simulation.clients import frame_of
from simulation.cluster.clients import ClusterClient
from simulation.cluster.config_inquiries import CONFIG_INQUIRIES
from simulation.cluster.coordinator_inquiries import COORDINATOR_INQUIRIES
from simulation.cluster.crews import Crew
from simulation.cluster.metadata_inquiries import METADATA_INQUIRIES

if TYPE_CHECKING:
    from random import Random

    from mockbroker.apis.context import Services
    from mockbroker.node.broker import Broker
    from simulation.cluster.crews import CrewSetting
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

T = TypeVar("T")
PAUSE_MS = 50.0
INQUIRIES = (*METADATA_INQUIRIES, *CONFIG_INQUIRIES, *COORDINATOR_INQUIRIES)


class Inquirer(ClusterClient):
    """Asks one question after another. `node` and `broker` are whom it asks at the moment."""

    node: int
    broker: Broker

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.topics)
        self.plan = plan
        self.answers = 0
        self._about = ""

    @property
    def services(self) -> Services:
        """What the broker has that is asked."""
        return self.broker.services

    def begin(self) -> None:
        self.node = self.any_node()
        broker = self.world.cluster.broker(self.node)
        if broker is not None:
            self.broker = broker
            self.world.finish_work()
            inquiry = self.rng.choice(INQUIRIES)
            self._about = inquiry.__name__
            inquiry(self)
            self.answers += 1
        self.later(self.rng.random() * PAUSE_MS)

    def inquire(self, request: object, version: int, kind: type[T]) -> T:
        """The answer of the broker, at once."""
        frame = self.world.exchange(frame_of(request, version, 1, self.name), self.broker)
        api_key = cast("int", request.API_KEY)  # type: ignore[attr-defined]
        _, pos = decode_response_header(frame, api_key, version)
        answer, end = decode(kind, version, frame, pos)
        self.expect("an answer of so many bytes", end, len(frame))
        return answer

    def expect(self, what: str, told: object, wanted: object) -> None:
        """It is a violation if they differ."""
        if told != wanted:
            self.world.violate(
                f"{self.name}: broker {self.node}, {self._about}: {what} is {told}, not {wanted}"
            )


class InquiryCrew(Crew):
    """One of them, where a seed draws "inquiries"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.inquirers = setting.hire(Inquirer, "inquirer", int(self.plan.on["inquiries"]))
        self.clients = [*self.inquirers]

    def counts(self) -> dict[str, int]:
        return {"inquiries": sum(each.answers for each in self.inquirers)}
