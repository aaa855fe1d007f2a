"""The record builders and readers of two client libraries, to check ours against.

Imported here because kafka-python uses a deprecated call while it is imported.
"""

from __future__ import annotations

import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import aiokafka.codec as aio_codec
    import aiokafka.record.default_records as aio_default
    import aiokafka.record.legacy_records as aio_legacy
    import kafka.codec as kp_codec
    import kafka.record.default_records as kp_default
    import kafka.record.legacy_records as kp_legacy

BATCH_READERS: list[Any] = [aio_default.DefaultRecordBatch, kp_default.DefaultRecordBatch]
BATCH_BUILDERS: list[Any] = [
    aio_default.DefaultRecordBatchBuilder,
    kp_default.DefaultRecordBatchBuilder,
]
LEGACY_READERS: list[Any] = [aio_legacy.LegacyRecordBatch, kp_legacy.LegacyRecordBatch]
LEGACY_BUILDERS: list[Any] = [
    aio_legacy.LegacyRecordBatchBuilder,
    kp_legacy.LegacyRecordBatchBuilder,
]
CLIENT_CODECS: dict[str, Any] = {"aiokafka": aio_codec, "kafka-python": kp_codec}
