"""Impostors: requests that must be refused, asked of brokers past the network now and then.

Nothing may come of them: no answer but the one that is due, and no change. Beside them a broker
that coordinates groups, and waits for its replicas, is asked what it tells of them meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.headers import decode_response_header
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.plan import decode
from simulation.clients import ask_at_once, frame_of
from simulation.cluster.committed_views import of_groups
from simulation.cluster.coordinator_refusals import (
    of_classic_group,
    of_consumer_group,
    of_full_group,
    of_transaction,
)
from simulation.cluster.crews import Crew, CrewSetting
from simulation.cluster.offset_probes import of_pending, wrong_ids
from simulation.cluster.refusals import of_partition
from simulation.cluster.stable_offsets import StableOffsets

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.metadata.changes import PartitionState
    from mockbroker.node.broker import Broker
    from simulation.cluster.refusals import Refusal

    Proposal = tuple[str, int, tuple[int, int], list[int], list[int], ErrorCode]
EVERY_MS = 40.0
AT_ONCE = 3
DENIED = frozenset(
    (
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )
)
"""Where an admin changes ACLs, these come first."""


class ImpostorCrew(Crew):
    """Asks what must be refused while clients are at work."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self._rng = setting.stream("impostors")
        self._ids_rng = setting.stream("topic ids")
        self._topic = next(iter(self.plan.topics))
        self._stopped = False
        self.refused = 0
        self.stable_offsets = StableOffsets(self.world, setting.stream("stable offsets"))
        self._kinds: tuple[Callable[[Broker], list[Refusal]], ...] = (
            self._of_partitions,
            self._of_groups,
            self._of_transactions,
        )

    def start(self) -> None:
        self.world.at(EVERY_MS, self._act)

    def stop(self) -> None:
        self._stopped = True

    def counts(self) -> dict[str, int]:
        return {"impostors": self.refused, "insisted": self.stable_offsets.told}

    def _act(self) -> None:
        if self._stopped:
            return
        self.world.finish_work()  # what is to be refused follows from all that was asked before
        brokers = self.world.cluster.brokers
        if brokers:
            kind = self._rng.choice(self._kinds)
            for broker in self._rng.sample(brokers, len(brokers)):  # one that has something to say
                refusals = kind(broker)
                if refusals:
                    self._ask_some(broker, refusals)
                    break
            self._propose()
            for broker in brokers:
                for refusal in self._of_full_groups(broker):
                    self._ask(broker, refusal)
                for wrong in wrong_ids(broker, self._ids_rng):
                    self.world.violate(f"broker {broker.broker_id}: {wrong}")
            for ahead in filter(_is_ahead, brokers):
                self._ask_some(ahead, self._of_what_is_told(ahead))
                self.stable_offsets.ask(ahead)
        self.world.at(EVERY_MS, self._act)

    def _ask_some(self, broker: Broker, refusals: list[Refusal]) -> None:
        for refusal in self._rng.sample(refusals, min(AT_ONCE, len(refusals))):
            self._ask(broker, refusal)

    def _ask(self, broker: Broker, refusal: Refusal) -> None:
        answer = self._answer(broker, refusal)
        if answer is None:
            return
        error = refusal.error_of(answer)
        self.refused += 1
        if error != refusal.wanted and error not in DENIED:
            self.world.violate(
                f"broker {broker.broker_id} answers {error} to {refusal.what}, not "
                f"{refusal.wanted}: {refusal.request}"
            )

    def _answer(self, broker: Broker, refusal: Refusal) -> object | None:
        if not refusal.may_wait:
            return ask_at_once(self.world, broker, refusal.request, refusal.version)
        frame = frame_of(refusal.request, refusal.version, 1, refusal.client_id)
        answers = self.world.probe(frame, broker)
        if not answers:
            return None
        api_key = cast("int", refusal.request.API_KEY)  # type: ignore[attr-defined]
        at = decode_response_header(answers[0], api_key, refusal.version)[1]
        kind: type[object] = response_class(api_key)
        return decode(kind, refusal.version, answers[0], at)[0]

    def _of_partitions(self, broker: Broker) -> list[Refusal]:
        partitions = [*broker.services.replicas.all_partitions()]
        if not partitions:
            return []
        return [*of_partition(broker, self._rng.choice(partitions), self.world.now_ms)]

    def _of_groups(self, broker: Broker) -> list[Refusal]:
        groups = broker.services.groups
        found: list[Refusal] = []
        for shard in groups.service.runtime.shards() if groups.in_use else ():
            for name, group in shard.groups.items():
                if not groups.service.runtime.is_ahead(name):
                    found += of_classic_group(group, self._topic)
            for name, consumers in shard.consumer_groups.items():
                if not groups.service.runtime.is_ahead(name):
                    found += of_consumer_group(consumers, self._topic)
            if not groups.service.runtime._deferred.get(shard.partition_index):  # noqa: SLF001
                found += of_pending(shard)
        return found

    def _of_full_groups(self, broker: Broker) -> list[Refusal]:
        groups, max_size = broker.services.groups, self.plan.group_times.max_size
        return [
            refusal
            for shard in (groups.service.runtime.shards() if groups.in_use else ())
            for group in shard.groups.values()
            for refusal in of_full_group(group, max_size)
        ]

    def _of_transactions(self, broker: Broker) -> list[Refusal]:
        transactions = broker.services.transactions
        found: list[Refusal] = []
        for shard in transactions.service.runtime.shards() if transactions.in_use else ():
            for known in shard.transactions.values():
                if shard.is_settled:
                    found += of_transaction(known, self._topic)
        return found

    def _of_what_is_told(self, broker: Broker) -> list[Refusal]:
        return [*of_groups(broker, self._topic)]

    # -- what the controller must refuse -----------------------------------------------------

    def _propose(self) -> None:
        """A leader's proposal of an in-sync set that may not be taken."""
        store = self.world.cluster.metadata
        topic = self._rng.choice([*store.topics.values()])
        index = self._rng.randrange(len(topic.partitions))
        state = topic.partitions[index]
        if state.leader < 0:
            return
        for what, node, epochs, isr, told, wanted in self._proposals(state):
            error = self.world.peers.control.alter_partition(
                node, topic.id, index, *epochs, isr, told
            )
            if error != wanted:
                self.world.violate(
                    f"the controller answers {error!r} to {what} for {topic.name}-{index}, not "
                    f"{wanted!r}"
                )

    def _proposals(self, state: PartitionState) -> list[Proposal]:
        leader, isr = state.leader, list(state.isr)
        epoch, version = state.leader_epoch, state.partition_epoch
        found: list[Proposal] = [
            ("a newer epoch", leader, (epoch + 1, version), isr, [], ErrorCode.NOT_CONTROLLER),
            ("another set of nobody", leader, (epoch, version), [], [], ErrorCode.INVALID_REQUEST),
        ]
        if epoch:
            fenced = ErrorCode.FENCED_LEADER_EPOCH
            found.append(("an older epoch", leader, (epoch - 1, version), isr, [], fenced))
        if version:
            old = ErrorCode.INVALID_UPDATE_VERSION
            found.append(("an older version", leader, (epoch, version - 1), isr, [], old))
        brokers = self.world.cluster.metadata.brokers
        for node in state.replicas:
            known = brokers[node]
            if node != leader:
                bad = ErrorCode.INVALID_REQUEST
                found.append(("a follower", node, (epoch, version), isr, [], bad))
            ineligible = ErrorCode.INELIGIBLE_REPLICA
            wider = [*dict.fromkeys((*isr, node))]
            if node not in isr and not known.active:
                told = [-1] * len(wider)
                found.append(("who is fenced", leader, (epoch, version), wider, told, ineligible))
            elif known.epoch > 0:
                told = [known.epoch - 1 if one == node else -1 for one in wider]
                found.append(
                    ("an older registration", leader, (epoch, version), wider, told, ineligible)
                )
        return found


def _is_ahead(broker: Broker) -> bool:
    """Whether its coordinator of groups has written what is not replicated yet."""
    groups = broker.services.groups
    return groups.in_use and any(
        groups.service.runtime._deferred.values()  # noqa: SLF001 -- to ask at the right moment
    )
