"""A reader with a quota, at rest, where a seed draws "inquiries" (KIP-13, KIP-219).

What it fetches within its quota is given and counts; what is beyond that is kept back with the time
that it is throttled for, and does not count; after the window is over nothing counts any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.metadata.client_quotas import QuotaAlteration
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.fetch_codec import decode_fetch_response
from mockbroker_protocol.headers import decode_response_header
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)
from simulation.clients import frame_of
from simulation.cluster.crews import Crew

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.node.broker import Broker
    from simulation.cluster.crews import CrewSetting

VERSION = 11
WINDOW_S = 10
"""A first burst counts as of all windows but one (quota.window.num, quota.window.size.seconds)."""
OVER_MS = 12_500.0
HEARD_MS = 400.0
SPARE = 1.15
BYTES = 1_000


class Told(NamedTuple):
    """What a fetch brought: records, for how long it is throttled, and what all of it took."""

    size: int
    throttle_ms: int
    charged: int = 0


class ThrottleCrew(Crew):
    """Its reader asks past the network."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.throttled = 0

    def counts(self) -> Mapping[str, int]:
        return {"throttled": self.throttled}

    def check(self) -> None:
        found = next(self._logs(), None) if self.plan.on["inquiries"] else None
        free = None if found is None else self._fetch(*found, "User:free")
        if found is not None and free is not None and free.size and not free.throttle_ms:
            self._check(*found, free)

    def _check(self, broker: Broker, topic: str, index: int, log: UnifiedLog, free: Told) -> None:
        rate = float(int(free.charged / WINDOW_S * SPARE) + 1)
        alteration = QuotaAlteration((("user", "throttled"),), [("consumer_byte_rate", rate)])
        controller, end = self.world.cluster.controller, log.log_end_offset
        self.world.operate(
            lambda: controller.alter_client_quotas([alteration], validate_only=False)
        )
        self.world.run_for(HEARD_MS)
        told = [self._fetch(broker, topic, index, log, "User:throttled") for _ in range(3)]
        self.world.skips = True
        self.world.run_for(OVER_MS)
        told.append(self._fetch(broker, topic, index, log, "User:throttled"))
        if None in told or log.log_end_offset != end:  # as by the marker of a late transaction
            return
        first, second, third, later = told
        assert second is not None
        self.throttled += 1
        kept_back = second.size == 0 and second.throttle_ms > 0 and second == third
        if first != free or later != free or not kept_back:
            self.world.violate(
                f"broker {broker.broker_id} gives a reader what is its quota, {free}, by {told}"
            )

    def _logs(self) -> Iterator[tuple[Broker, str, int, UnifiedLog]]:
        """What there is to read."""
        for name in sorted(self.plan.topics):
            for index, state in enumerate(self.world.cluster.metadata.topics[name].partitions):
                broker = self.world.cluster.broker(state.leader)
                if broker is None:
                    continue
                log = self.world.controls.log(name, index, state.leader)
                if log is not None and log.log_end_offset:
                    yield broker, name, index, log

    def _fetch(
        self, broker: Broker, topic: str, index: int, log: UnifiedLog, who: str
    ) -> Told | None:
        """What somebody is given from the beginning; None: nothing now, or an error."""
        part = FetchRequestPartition(index, -1, log.log_start_offset, partition_max_bytes=BYTES)
        request = FetchRequest(
            max_bytes=BYTES,
            session_epoch=-1,
            topics=[FetchRequestTopic(topic, partitions=[part])],
        )
        frame = frame_of(request, VERSION, 1, "throttled")
        for data in self.world.probe(frame, broker, who):
            _, pos = decode_response_header(data, ApiKey.FETCH, VERSION)
            answer = decode_fetch_response(data, pos, VERSION)
            size = 0
            for one in (part for of in answer.responses for part in of.partitions):
                if one.error_code:
                    return None
                chunks = one.records or b""
                size += sum(map(len, chunks)) if isinstance(chunks, list) else len(chunks)
            return Told(size, answer.throttle_time_ms, len(data))
        return None
