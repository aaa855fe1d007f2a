"""Clients of the simulated cluster that fault rules are armed for, and what the rules must do.

A victim asks for a topic that there is not, by a connection of its own: the answer is known. Then a
rule for it alone is armed, in one of the forms that users write it in, the same is asked again, and
what comes back, or does not, and when, must be what the rule says. Rules that make no sense must
be refused. The forms and what each must do are in `victim_rules`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker.faults.errors import FaultError
from mockbroker.faults.presets import PRESETS, parse
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from simulation.clients import frame_of
from simulation.cluster.clients import ClusterClient
from simulation.cluster.crews import Crew
from simulation.cluster.filled_requests import Subject, filled
from simulation.cluster.victim_rules import BAD_RULES, FORMS, SAME, Form, Meeting

if TYPE_CHECKING:
    from random import Random

    from mockbroker.node.broker import Broker
    from simulation.cluster.crews import CrewSetting
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld
    from simulation.stage import Wire

PAUSE_MS = 150.0
NAME = "of-victims"
TICK_MS = 15.0
VICTIMS = 2


class Line:
    """A victim's end of a connection."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world
        self.data = b""
        self.closed = False
        self.first_ms = self.end_ms = world.now_ms
        self.wire: Wire | None = None

    def data_received(self, data: bytes) -> None:
        if not self.data:
            self.first_ms = self._world.now_ms
        self.data += data

    def connection_lost(self) -> None:
        self.closed = True
        self.end_ms = self._world.now_ms

    def is_over(self, *, ends: bool) -> bool:
        """Whether there is a whole answer, and the connection has ended if it `ends`, or it has."""
        whole = len(self.data) >= 4 and len(self.data) >= 4 + int.from_bytes(self.data[:4], "big")
        return self.closed or (whole and not ends)


class Victim(ClusterClient):
    """Meets one rule after another."""

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.topics)
        self.met = self.hits = 0
        self._forms = [form for form in FORMS if not (plan.on["skew"] and form.is_timed)]
        """Not those that clocks which are moved would let come early."""

    def begin(self) -> None:
        node = self.any_node()
        broker = self.world.cluster.broker(node)
        if broker is None:
            self.later()
            return
        if self.rng.random() < 0.2:
            self._try_bad_rules()
        self._try_a_preset()
        form = self.rng.choice(self._forms)
        version = self.rng.choice(form.versions)
        frame = self._asking(form, version)
        answers = self.world.probe(frame, broker)
        if len(answers) != 1:
            self.later()
            return
        wanted = len(answers[0]).to_bytes(4, "big") + answers[0]
        rule = {**form.rule(self.rng), "client": self.name, "broker": node, "maybe": True}
        made: list[str] = []
        faults = self.world.cluster.faults
        self.world.operate(lambda: made.extend(faults.add(*parse([rule]))))
        meeting = Meeting(form, rule, version, wanted, self.world.now_ms, node, _leads(broker))
        line = Line(self.world)
        line.wire = self.world.wire_to(broker, line)
        line.wire.may_be_closed = True
        line.wire.send(frame)
        if form.releases_ms is not None:
            self.world.at(form.releases_ms, lambda: self._release(made[0]))
        self._wait(made[0], meeting, line, meeting.since_ms + form.waits_ms)

    def _asking(self, form: Form, version: int) -> bytes:
        return frame_of(
            filled(form.api, version, Subject(NAME, form.topics)), version, 7, self.name
        )

    def _is_known(self, meeting: Meeting) -> bool:
        """Whether what is the answer without a rule always was: who coordinates a group may move,
        and come back.
        """
        broker = self.world.cluster.broker(meeting.node)
        if broker is None or meeting.form.outcome != SAME:
            return True
        if _leads(broker) != meeting.leads:
            return False
        answers = self.world.probe(self._asking(meeting.form, meeting.version), broker)
        return answers == [meeting.wanted[4:]]

    def _release(self, rule_id: str) -> None:
        if rule_id in {armed.id for armed in self.world.cluster.faults.list()}:
            self.world.operate(lambda: self.world.cluster.faults.release(rule_id))

    def _wait(self, rule_id: str, meeting: Meeting, line: Line, until_ms: float) -> None:
        """Look once all has come that can come, or at the latest then."""
        if line.is_over(ends=meeting.form.ends) or self.world.now_ms >= until_ms:
            self._look(rule_id, meeting, line)
        else:
            self.world.at(TICK_MS, lambda: self._wait(rule_id, meeting, line, until_ms))

    def _look(self, rule_id: str, meeting: Meeting, line: Line) -> None:
        """What came of it."""
        faults = self.world.cluster.faults
        armed = next((one for one in faults.list() if one.id == rule_id), None)
        if armed is not None:
            self.world.operate(lambda: faults.remove(rule_id))
        wire = line.wire
        assert wire is not None
        self.note(f"{meeting.rule} brings {len(line.data)} bytes")
        if armed is not None and not wire.was_cut:
            self.met += 1
            self.hits += armed.hits
            wrong = meeting.wrong(
                line.data,
                closed=line.closed,
                passed_ms=(line.first_ms if line.data else line.end_ms) - meeting.since_ms,
                hits=armed.hits,
            )
            if wrong is not None and self._is_known(meeting):
                self.world.violate(f"{self.name}: {meeting.rule}: {wrong}")
        wire.close()
        self.later(self.rng.random() * PAUSE_MS)

    def _try_bad_rules(self) -> None:
        """Each is refused, and the field that is wrong is named."""
        field, rule = self.rng.choice(BAD_RULES)
        before = len(self.world.cluster.faults.list())
        told = ""
        try:
            self.world.cluster.faults.add(*parse([rule]))
        except FaultError as error:
            told = error.field
        if told != field or len(self.world.cluster.faults.list()) != before:
            self.world.violate(f"{self.name}: {rule} is refused for {told!r}, not {field!r}")

    def _try_a_preset(self) -> None:
        """A preset is rules, each the same from its plain data, and goes as it came."""
        faults = self.world.cluster.faults
        name = self.rng.choice([*PRESETS])
        rules = parse({"preset": name})
        if name != "rolling_restart":
            rules = parse([{**rule.to_dict(), "client": "nobody"} for rule in rules])
        else:
            rules = parse([{**rule.to_dict(), "after_ms": 10**9} for rule in rules])
        if [parse(rule.to_dict()) for rule in rules] != [[rule] for rule in rules]:
            self.world.violate(f"{self.name}: {name} is not what its plain data say")
        before = [armed.id for armed in faults.list()]
        made: list[str] = []
        self.world.operate(lambda: made.extend(faults.add(*rules)))

        def take_away() -> None:
            for rule_id in made:
                faults.remove(rule_id)

        self.world.operate(take_away)
        if [armed.id for armed in faults.list()] != before or len(made) != len(rules):
            self.world.violate(f"{self.name}: {name} leaves {faults.list()}")


def _leads(broker: Broker) -> tuple[tuple[int, int], ...]:
    topic = broker.services.metadata.topics.get(GROUP_METADATA_TOPIC)
    partitions = () if topic is None else topic.partitions
    return tuple((state.leader, state.leader_epoch) for state in partitions)


class VictimCrew(Crew):
    """Some of them, where a seed draws "rules"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.victims = setting.hire(Victim, "victim", VICTIMS * int(self.plan.on["rules"]))
        self.clients = [*self.victims]

    def counts(self) -> dict[str, int]:
        return {
            "rules met": sum(each.met for each in self.victims),
            "rules' hits": sum(each.hits for each in self.victims),
        }

    def check(self) -> None:
        """None of their rules is left."""
        cluster = self.world.cluster
        if self.victims and cluster.has_faults:
            left = [armed for armed in cluster.faults.list() if armed.fault.client is not None]
            mine: list[Any] = [one for one in left if (one.fault.client or "").startswith("victim")]
            if mine:
                self.world.violate(f"rules are left: {mine}")
