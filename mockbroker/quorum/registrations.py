"""Brokers as the metadata log knows them: incarnation, epoch, endpoints (BrokerRegistration).

`translation` makes one for each broker of this process; `brokers` one for each that registers from
outside. Never mutated; what changes is replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker_protocol.messages.metadata_records import (
    RegisterBrokerRecord,
    RegisteredEndpoint,
    RegisteredFeature,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class ListenerAddress(NamedTuple):
    """Where one listener of a node is; `security_protocol` by Kafka's ids, 0 is PLAINTEXT."""

    name: str
    host: str
    port: int
    security_protocol: int = 0


class Registration(NamedTuple):
    """One start of a broker. Ids are 16 raw bytes; a feature maps to its (lowest, highest) level.

    `epoch` is that of its `BrokerInfo`, which fetches and proposals of in-sync sets name: of a
    broker outside the offset of its record in the metadata log, -1 before that is written; one of
    this process counts its own.
    """

    node_id: int
    incarnation_id: bytes
    listeners: tuple[ListenerAddress, ...]
    features: Mapping[str, tuple[int, int]]
    log_dirs: tuple[bytes, ...]
    rack: str | None = None
    epoch: int = -1

    def record(self, *, fenced: bool) -> RegisterBrokerRecord:
        """The record that says so."""
        return RegisterBrokerRecord(
            self.node_id,
            incarnation_id=self.incarnation_id,
            broker_epoch=self.epoch,
            end_points=[RegisteredEndpoint(*listener) for listener in self.listeners],
            features=[RegisteredFeature(name, *levels) for name, levels in self.features.items()],
            rack=self.rack,
            fenced=fenced,
            log_dirs=list(self.log_dirs),
        )
