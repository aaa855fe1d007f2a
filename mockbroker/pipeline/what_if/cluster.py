"""The placement of a cluster that runs: its partitions and their replicas, from its metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.pipeline.broker_client import BrokerClient
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.options import broker_of

if TYPE_CHECKING:
    import argparse


def placement_of(arguments: argparse.Namespace) -> list[tuple[str, int, list[int]]]:
    """Topic, index and replicas, leader first, of each partition that has a leader."""
    broker = broker_of(arguments)
    with BrokerClient(broker.bootstrap, broker.conf) as client:
        placed = client.replicas()
    if not placed:
        raise PipelineError(f"--bootstrap: {broker.bootstrap} has no partitions")
    return placed
