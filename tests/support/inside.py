"""A cluster of one node for the tests of `mockbroker.state`, which no client is connected to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.core import Core

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.cluster.cluster import Cluster


def make_cluster(
    topics: Mapping[str, int | None] | None = None, config: Mapping[str, str] | None = None
) -> Cluster:
    """One node; its time stands at `core.EPOCH_MS`."""
    return Core(topics=topics, config=config).cluster
