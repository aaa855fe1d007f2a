"""Whether the coordinators can take over what a snapshot's logs say, tried where it harms nobody.

`snapshot_file` calls it for what comes from a file. The records of `__consumer_offsets` and
`__transaction_state` are restored into a cluster that is thrown away: what they would do to a
coordinator is told before any change is made to the cluster that is in use.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from mockbroker.metadata.names import INTERNAL_TOPICS
from mockbroker.state.snapshot_fields import FieldError, quoted

if TYPE_CHECKING:
    from mockbroker.state.snapshot import Snapshot


def rehearse(snapshot: Snapshot) -> None:
    """Raise FieldError unless the internal topics of a snapshot can be restored."""
    internal = tuple(
        topic
        for topic in snapshot.topics
        if topic.name in INTERNAL_TOPICS and any(one.log.batches for one in topic.partitions)
    )
    if not internal:
        return
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.state.snapshot import restore

    bare = snapshot._replace(broker_configs={}, client_quotas={}, acls=())
    for topic in internal:
        stage = Cluster({}, {}, substream=Random, epoch_ms=0)
        try:
            restore(stage, bare._replace(topics=(topic,)))
            stage.tick(0.0)
        except Exception as error:  # noqa: BLE001 -- whatever its records make of a coordinator
            problem = quoted(f"{type(error).__name__}: {error}")
            raise FieldError(topic.name, f"its records cannot be taken over ({problem})") from None
