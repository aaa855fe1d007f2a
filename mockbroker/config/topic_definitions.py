"""Apache Kafka 4.4's topic configs, as one text table, and the broker configs they fall back to.

`config.registry` and `config.topic` read it. A row is `name TYPE default check flags`, as
`config.definition` explains.
"""

from __future__ import annotations

from typing import Final

TOPIC_DEFINITIONS: Final = """\
cleanup.policy LIST delete =compact|delete Md
compression.gzip.level INT -1 1..9|-1 Md
compression.lz4.level INT 9 1..17 Md
compression.type STRING producer =uncompressed|zstd|lz4|snappy|gzip|producer Md
compression.zstd.level INT 3 -131072..22 Md
delete.retention.ms LONG 86400000 0.. Md
errors.deadletterqueue.group.enable BOOLEAN false - Md
file.delete.delay.ms LONG 60000 0.. Md
flush.messages LONG 9223372036854775807 1.. Md
flush.ms LONG 9223372036854775807 0.. Md
follower.replication.throttled.replicas LIST '' replicas Md
index.interval.bytes INT 4096 0.. Md
internal.segment.bytes INT - - Mdi
leader.replication.throttled.replicas LIST '' replicas Md
local.retention.bytes LONG -2 -2.. Md
local.retention.ms LONG -2 -2.. Md
max.compaction.lag.ms LONG 9223372036854775807 1.. Md
max.decompressed.message.bytes INT 2147483639 1..2147483639 Md
max.message.bytes INT 1048588 0.. Md
message.timestamp.after.max.ms LONG 3600000 0.. Md
message.timestamp.before.max.ms LONG 9223372036854775807 0.. Md
message.timestamp.type STRING CreateTime =CreateTime|LogAppendTime Md
min.cleanable.dirty.ratio DOUBLE 0.5 0..1 Md
min.compaction.lag.ms LONG 0 0.. Md
min.insync.replicas INT 1 1.. Md
preallocate BOOLEAN false - Md
remote.copy.lag.bytes LONG -1 -1.. Md
remote.copy.lag.ms LONG 0 -1.. Md
remote.log.copy.disable BOOLEAN false - Md
remote.log.delete.on.disable BOOLEAN false - Md
remote.storage.enable BOOLEAN false - Md
retention.bytes LONG -1 - Md
retention.ms LONG 604800000 -1.. Md
segment.bytes INT 1073741824 1048576.. Md
segment.index.bytes INT 10485760 4.. Md
segment.jitter.ms LONG 0 0.. Md
segment.ms LONG 604800000 1.. Md
unclean.leader.election.enable BOOLEAN false - Md
"""

# Each topic config's broker synonyms: the first that is set wins, and the number turns it into
# the topic config's unit (Kafka: ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS).
BROKER_SYNONYMS: Final[dict[str, tuple[tuple[str, int], ...]]] = {
    "segment.bytes": (("log.segment.bytes", 1),),
    "segment.ms": (
        ("log.roll.ms", 1),
        ("log.roll.hours", 3600000),
    ),
    "segment.jitter.ms": (
        ("log.roll.jitter.ms", 1),
        ("log.roll.jitter.hours", 3600000),
    ),
    "segment.index.bytes": (("log.index.size.max.bytes", 1),),
    "flush.messages": (("log.flush.interval.messages", 1),),
    "flush.ms": (
        ("log.flush.interval.ms", 1),
        ("log.flush.scheduler.interval.ms", 1),
    ),
    "retention.bytes": (("log.retention.bytes", 1),),
    "retention.ms": (
        ("log.retention.ms", 1),
        ("log.retention.minutes", 60000),
        ("log.retention.hours", 3600000),
    ),
    "max.message.bytes": (("message.max.bytes", 1),),
    "max.decompressed.message.bytes": (("max.decompressed.message.bytes", 1),),
    "index.interval.bytes": (("log.index.interval.bytes", 1),),
    "delete.retention.ms": (("log.cleaner.delete.retention.ms", 1),),
    "min.compaction.lag.ms": (("log.cleaner.min.compaction.lag.ms", 1),),
    "max.compaction.lag.ms": (("log.cleaner.max.compaction.lag.ms", 1),),
    "file.delete.delay.ms": (("log.segment.delete.delay.ms", 1),),
    "min.cleanable.dirty.ratio": (("log.cleaner.min.cleanable.ratio", 1),),
    "cleanup.policy": (("log.cleanup.policy", 1),),
    "unclean.leader.election.enable": (("unclean.leader.election.enable", 1),),
    "min.insync.replicas": (("min.insync.replicas", 1),),
    "compression.type": (("compression.type", 1),),
    "compression.gzip.level": (("compression.gzip.level", 1),),
    "compression.lz4.level": (("compression.lz4.level", 1),),
    "compression.zstd.level": (("compression.zstd.level", 1),),
    "preallocate": (("log.preallocate", 1),),
    "message.timestamp.type": (("log.message.timestamp.type", 1),),
    "message.timestamp.before.max.ms": (("log.message.timestamp.before.max.ms", 1),),
    "message.timestamp.after.max.ms": (("log.message.timestamp.after.max.ms", 1),),
    "local.retention.ms": (("log.local.retention.ms", 1),),
    "local.retention.bytes": (("log.local.retention.bytes", 1),),
    "remote.copy.lag.ms": (("log.remote.copy.lag.ms", 1),),
    "remote.copy.lag.bytes": (("log.remote.copy.lag.bytes", 1),),
}
