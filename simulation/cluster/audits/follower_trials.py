"""What a leader makes of its followers, tried beside the cluster.

What a leader knows of followers is made anew for one that it leads, with the brokers that it knows.
Then these fetch, lag, are cut, are fenced and register anew as they hardly do in one run, and what
follows is held against a model of its own after each step:

- The high watermark is the smallest end of the larger in-sync set (KIP-497) and of who has caught
  up and may join (Partition.shouldWaitForReplicaToJoinIsr).
- May join who is there, stays, and has fetched since it registered (KIP-841, KIP-903): then, if it
  has all up to the high watermark and the epoch's start, and no other proposal is under way.
- Who leaves has not been at the leader's end for more than replica.lag.time.max.ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.store import MetadataStore
from mockbroker.replica.hosted_log import PartitionReader
from mockbroker.replica.in_sync import NEVER, Followers
from simulation.cluster.audits.trials import Trials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from mockbroker.node.broker import Broker
    from mockbroker.replica.partition import Partition

STEPS: Final = 10
LAG_MS: Final = 500
PASSES_MS: Final = (0, 1, LAG_MS - 1, LAG_MS, LAG_MS // 2)


class _Follower:
    """A follower by the model (Kafka: ReplicaState)."""

    def __init__(self, caught_up_ms: float) -> None:
        self.end = self.broker_epoch = -1
        self.leader_end = 0
        self.fetched_ms = 0.0
        self.caught_up_ms = caught_up_ms

    def fetch(self, offset: int, leader_end: int, now_ms: float, broker_epoch: int) -> None:
        """As Replica.updateFetchStateOrThrow."""
        if offset >= leader_end:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self.leader_end:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.end, self.leader_end = offset, leader_end
        self.fetched_ms, self.broker_epoch = now_ms, broker_epoch


class FollowerTrials(Trials):
    """Tries what leaders make of followers."""

    chance = 0.2

    def try_one(self, broker: Broker) -> Iterator[str]:
        """One trial of one partition that a broker leads."""
        rng = self._rng
        led = [*broker.services.replicas.led_partitions()]
        if led and len(broker.services.metadata.brokers) > 1:
            partition = rng.choice(led)
            self.tried += 1
            trial = _Trial(broker, partition, rng)
            for _ in range(STEPS):
                wrong = trial.step()
                if wrong:
                    yield f"{partition}, as its followers are tried: {wrong}"
                    break


class _Trial:
    """One leader: what it knows of its followers, and the same by the model."""

    def __init__(self, broker: Broker, partition: Partition, rng: Random) -> None:
        known = broker.services.metadata
        self._rng = rng
        self._metadata = MetadataStore(known.cluster_id, known.config)
        self._metadata.brokers.update(known.brokers)
        self._now_ms, self._end = 1_000.0, rng.randint(1, 3)
        replicas = [broker.broker_id, *(each for each in known.brokers if each != broker.broker_id)]
        isr = [node for node in replicas if node == broker.broker_id or rng.random() < 0.5]
        self._state = partition.state._replace(replicas=replicas, isr=isr)
        self._leader = broker.broker_id
        self._followers = Followers(self._leader, self._state, self._metadata, self._now_ms)
        self._models = {
            node: _Follower(self._now_ms if node in isr else NEVER) for node in replicas[1:]
        }
        self._proposed: list[int] | None = None

    def step(self) -> str:
        """Something happens; what is wrong after it."""
        rng = self._rng
        steps: tuple[Callable[[], str], ...] = (
            self._fetch, self._fetch, self._fetch, self._append, self._pass, self._propose,
            self._decide, self._change_broker,
        )  # fmt: skip
        did = rng.choice(steps)()
        return self._wrong() and f"{did}: {self._wrong()}"

    # -- what happens ------------------------------------------------------------------------

    def _fetch(self) -> str:
        rng = self._rng
        node = rng.choice([*self._models])
        reader, epoch = PartitionReader(), self._metadata.brokers[node].epoch
        reader.fetch_offset = rng.choice((self._end, rng.randint(0, self._end)))
        reader.log_start_offset = 0
        epoch = rng.choice((-1, epoch, epoch, epoch - 1))
        follower = self._followers.get(node)
        assert follower is not None
        follower.fetched(reader, self._end, self._now_ms, epoch)
        self._models[node].fetch(reader.fetch_offset, self._end, self._now_ms, epoch)
        return f"{node} of epoch {epoch} has fetched {reader.fetch_offset}"

    def _append(self) -> str:
        before = self._end
        self._end += self._rng.randint(1, 2)
        self._followers.leader_appended(before)
        return f"{self._end} records are there"

    def _pass(self) -> str:
        passed_ms = self._rng.choice(PASSES_MS)
        self._now_ms += passed_ms
        return f"{passed_ms} ms have passed"

    def _propose(self) -> str:
        """An in-sync set that is larger, or smaller."""
        node, isr = self._rng.choice([*self._models]), self._state.isr
        wanted = [each for each in isr if each != node] if node in isr else [*isr, node]
        self._proposed = self._followers.proposed = wanted
        return f"{wanted} is proposed"

    def _decide(self) -> str:
        isr = self._state.isr if self._proposed is None else self._proposed
        for node in self._state.isr:
            if node not in isr:
                self._models[node].caught_up_ms = NEVER
        self._state, self._proposed = self._state._replace(isr=isr), None
        self._followers.update(self._state)
        return f"{isr} is in sync"

    def _change_broker(self) -> str:
        rng, brokers = self._rng, self._metadata.brokers
        known = brokers[rng.choice([*self._models])]
        changed = rng.choice(
            (
                known._replace(fenced=not known.fenced),
                known._replace(leaving=not known.leaving),
                known._replace(epoch=known.epoch + 1),
            )
        )
        brokers[known.node_id] = changed
        return f"{changed}"

    # -- what follows ------------------------------------------------------------------------

    def _may_join(self, node: int) -> bool:
        broker, told = self._metadata.brokers[node], self._models[node].broker_epoch
        return not broker.fenced and not broker.leaving and (told < 0 or told >= broker.epoch)

    def _wrong(self) -> str:
        in_sync, now_ms, models = self._state.isr, self._now_ms, self._models
        late_ms = now_ms - LAG_MS
        holds = {*in_sync, *(self._proposed or ())}
        holds |= {
            node
            for node, one in models.items()
            if one.caught_up_ms >= late_ms and self._may_join(node)
        }
        mark = min([self._end, *(models[node].end for node in holds if node in models)])
        told = self._followers.high_watermark(self._end, now_ms, LAG_MS)
        if told != mark:
            return f"its high watermark is to be {told}, not {mark}, which {holds} have"
        start = self._end - 1
        for node, one in models.items():
            follower = self._followers.get(node)
            assert follower is not None
            joins = (
                self._proposed is None
                and node not in in_sync
                and one.end >= max(mark, start)
                and self._may_join(node)
            )
            wanted = [*in_sync, node] if joins else None
            if self._followers.expansion(follower, mark, start) != wanted:
                return f"{node} with {one.end} joins {in_sync}: not {wanted}"
        stay = [
            node
            for node in in_sync
            if node == self._leader
            or models[node].end == self._end
            or models[node].caught_up_ms >= late_ms
        ]
        less = None if self._proposed is not None or stay == in_sync else stay
        shrunk = self._followers.shrinkage(self._end, now_ms, LAG_MS)
        return "" if shrunk == less else f"of {in_sync} are to stay {shrunk}, not {less}"
