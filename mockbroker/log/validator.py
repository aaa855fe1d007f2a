"""Checks of a produced batch, in Kafka's order, and what the broker changes in it.

`UnifiedLog.append_as_leader` calls `validate`; the Produce API asks `whole_batch_size` first, since
the shape of what was sent comes before acks and leadership. Mirrors
UnifiedLog.analyzeAndValidateRecords and LogValidator.

The cost matters here, for every byte produced passes: the checksum runs over the bytes in place,
and an uncompressed batch that is not tiny is only counted (`record_walk`) as long as the max
timestamp in its header says that no record can break a rule of the topic.
"""

from __future__ import annotations

from bisect import bisect_left
from struct import Struct
from sys import maxsize
from typing import TYPE_CHECKING, Final

from mockbroker.log.record_walk import SMALL_BATCH_BYTES, check_record_sizes, count_records
from mockbroker.log.results import NO_RECORD_ERRORS, AppendOrigin, RecordErrors
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.named_tuple import NamedTuple
from mockbroker_protocol.native import mypyc_attr
from mockbroker_protocol.records import record_codec
from mockbroker_protocol.records.batch import (
    ATTRIBUTES_OFFSET,
    CREATE_TIME,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MIN_LEGACY_LENGTH,
    NONE,
    ZSTD,
    BatchHeader,
    patched_header,
    read_batch_header,
    recode_in_slices,
)
from mockbroker_protocol.records.crc import crc32c
from mockbroker_protocol.records.record_codec import RecordScan
from mockbroker_protocol.slices import all_at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from mockbroker.config.log_config import LogConfig
    from mockbroker.log.results import Buffer, Stored


NO_TIMESTAMP: Final = -1
_CLIENT: Final = AppendOrigin.CLIENT
_LAST_CODEC: Final = ZSTD
_LAST_MAGIC: Final = 2
_HEADER_BYTES: Final = 61
_COMPRESSION_MASK: Final = 0x07
_TIMESTAMP_TYPE_BIT: Final = 0x08
_CONTROL_BIT: Final = 0x20
_LENGTH: Final = Struct(">i").unpack_from
_COPIED_BYTES: Final = 1024
"""Pieces of a batch of bytes that is no larger are copied: a view takes longer."""
_LONG_AGO_MS: Final = -1 << 60
_FAR_MS: Final = 1 << 61
"""Longer before any clock's time than `_LONG_AGO_MS` is."""
_LOOKED_AT = 16_384
"""Records of a refused batch that are looked at in one slice."""
_COUNTED_AT_ONCE_BYTES = 8 << 20
"""A larger batch is looked through in slices, where counting would do."""


@mypyc_attr(acyclic=True, free_list_len=1)
class ValidatedBatch:
    """A batch to store.

    `batch` is what to store from its first byte, bytes if it is small and came so; `new_header`, if
    not None, replaces its 61 bytes. `header` has the batch's fields as they are to be stored,
    offsets and epoch aside.
    """

    __slots__ = ("batch", "header", "new_header")

    def __init__(self, batch: Stored, header: BatchHeader, new_header: bytes | None = None) -> None:
        self.batch = batch
        self.header = header
        self.new_header = new_header


class Refusal(NamedTuple):
    """Why a batch is not stored; `tells_start`: the answer names the log start all the same."""

    error: ErrorCode
    message: str | None = None
    record_errors: RecordErrors = NO_RECORD_ERRORS
    tells_start: bool = True


Outcome = RecordScan | Refusal | ValidatedBatch | None


def whole_batch_size(records: Buffer, pos: int) -> int:
    """Bytes of the whole batch or message that begins at `pos`; 0 when there is none.

    `ProtocolError` for bytes that can begin none (ByteBufferLogInputStream.nextBatch): a length
    below that of any message, or a magic that there is not.
    """
    left = len(records) - pos
    if left < LOG_OVERHEAD:
        return 0
    if isinstance(records, bytes):  # as most are: a call takes longer
        length = records[pos + 8] << 24 | records[pos + 9] << 16
        length |= records[pos + 10] << 8 | records[pos + 11]
        if length >= 1 << 31:
            length -= 1 << 32
    else:
        length = _LENGTH(records, pos + 8)[0]
    if length < MIN_LEGACY_LENGTH:
        raise ProtocolError(f"a batch of {length} bytes is smaller than any message")
    if left <= MAGIC_OFFSET:
        return 0
    magic = records[pos + MAGIC_OFFSET]
    if magic > _LAST_MAGIC:
        raise ProtocolError(f"there is no magic {magic}")
    size = length + LOG_OVERHEAD
    return size if size <= left else 0


def is_stored_as_sent(records: Buffer, config: LogConfig) -> bool:
    """Whether the records of a batch, if it is taken, need neither be unpacked nor packed.

    Of bytes that are a whole batch, as `whole_batch_size` says.
    """
    codec = records[ATTRIBUTES_OFFSET + 1] & _COMPRESSION_MASK
    return codec == NONE and config.target_compression <= NONE


def validate(
    given: Buffer | InspectedBatch, config: LogConfig, origin: AppendOrigin, now_wall_ms: int
) -> ValidatedBatch | Refusal:
    """Check the first batch that was given and decide how it is to be stored."""
    records = given.records if isinstance(given, InspectedBatch) else given
    outcome = given.outcome if isinstance(given, InspectedBatch) else None
    try:
        header = read_batch_header(records)
    except ProtocolError:
        # DefaultRecordBatch.ensureValid: a length that has no room for the header's fields.
        return Refusal(ErrorCode.CORRUPT_MESSAGE, tells_start=False)
    size = header.batch_length + 12
    is_client = origin is _CLIENT
    if is_client and header.base_offset != 0:
        return Refusal(ErrorCode.INVALID_RECORD)
    if size > config.max_message_bytes:
        return Refusal(ErrorCode.MESSAGE_TOO_LARGE, tells_start=False)
    batch: Stored
    checked: Buffer
    if isinstance(records, bytes) and size <= _COPIED_BYTES:
        batch = records if len(records) == size else records[:size]
        checked = batch[ATTRIBUTES_OFFSET:]
    else:
        batch = memoryview(records)[:size]
        checked = batch[ATTRIBUTES_OFFSET:]
        if size < SMALL_BATCH_BYTES:  # is looked at, too
            checked = checked.tobytes()
    if crc32c(checked) != header.crc:
        return Refusal(ErrorCode.CORRUPT_MESSAGE, tells_start=False)
    attributes = header.attributes
    if is_client:  # LogValidator.validateBatch
        delta = header.last_offset_delta
        if delta < 0 or header.record_count != delta + 1 or attributes & _CONTROL_BIT:
            return Refusal(ErrorCode.INVALID_RECORD)
        if header.producer_id >= 0 and header.base_sequence < 0:
            return Refusal(ErrorCode.INVALID_RECORD)
    if outcome is not None and not isinstance(outcome, RecordScan):
        return outcome
    uncompressed = attributes & _COMPRESSION_MASK == NONE and config.target_compression <= NONE
    if uncompressed or attributes & _CONTROL_BIT:
        return _validate_uncompressed(batch, checked, header, config, now_wall_ms, outcome)
    return _validate_compressed(batch, header, config, now_wall_ms, outcome)


def _validate_uncompressed(
    batch: Stored,
    checked: Buffer,
    header: BatchHeader,
    config: LogConfig,
    now_wall_ms: int,
    scan: RecordScan | None,
) -> ValidatedBatch | Refusal:
    """LogValidator.assignOffsetsNonCompressed: the records stay as they are.

    `checked` is what the checksum covers; `scan` is there if the records were looked at before.
    """
    max_timestamp = header.max_timestamp
    try:
        size = len(batch)
        if (
            scan is None
            and size >= SMALL_BATCH_BYTES
            and _no_record_can_fail(header, config, now_wall_ms)
        ):
            count = count_records(batch, _HEADER_BYTES, size)
        else:
            if scan is None:
                scan = _scan(checked, header, config, now_wall_ms)
                if _may_be_refused(scan, header, config):
                    refused = all_at_once(_record_errors(scan, header, config, now_wall_ms))
                    if refused is not None:
                        return refused
            count = scan.count
            max_timestamp = _effective_max_timestamp(header, scan)
    except ProtocolError:
        return Refusal(ErrorCode.INVALID_RECORD)
    if count != header.record_count:
        return Refusal(ErrorCode.INVALID_RECORD)
    return _stored_in_place(batch, header, max_timestamp, config, now_wall_ms)


class InspectedBatch:
    """Records whose first batch was looked through, and what came out: `inspect`.

    That is why it is refused, what its records are when it is stored as it came, or what is stored
    in its place; None: nothing yet.
    """

    __slots__ = ("outcome", "records")

    def __init__(self, records: Buffer, outcome: Outcome) -> None:
        self.records = records
        self.outcome = outcome

    def __len__(self) -> int:
        return len(self.records)


def inspect(
    records: Buffer, config: LogConfig, now_wall_ms: int
) -> Generator[object, None, InspectedBatch]:
    """Do in slices what costs most about a batch, before `validate` decides on it.

    That is to inflate it, to look at each record, to write them anew in the topic's codec: of one
    that is not compressed too, where the topic's rules ask for it.
    """
    try:
        header = read_batch_header(records)
    except ProtocolError:
        return InspectedBatch(records, None)
    size = header.batch_length + LOG_OVERHEAD
    if size > config.max_message_bytes:
        return InspectedBatch(records, None)
    batch = memoryview(records)[:size]
    outcome: Outcome = None
    if header.compression or config.target_compression > NONE:
        outcome = yield from _inspected(batch, header, config, now_wall_ms)
    elif size >= SMALL_BATCH_BYTES and (
        size > _COUNTED_AT_ONCE_BYTES or not _no_record_can_fail(header, config, now_wall_ms)
    ):
        try:
            scan = yield from _scan_in_slices(batch, _HEADER_BYTES, header, config, now_wall_ms)
            refused = yield from _record_errors(scan, header, config, now_wall_ms)
            outcome = scan if refused is None else refused
        except ProtocolError:
            outcome = Refusal(ErrorCode.INVALID_RECORD)
    return InspectedBatch(records, outcome)


def _inspected(
    batch: Stored, header: BatchHeader, config: LogConfig, now_wall_ms: int
) -> Generator[object, None, RecordScan | Refusal | ValidatedBatch]:
    """Why it is refused, what its records are if it stays as it is, or what is stored instead."""
    from mockbroker_protocol.records.compression import inflate

    try:
        if header.compression > _LAST_CODEC:
            raise ProtocolError(f"unknown compression codec {header.compression}")
        data: Buffer = memoryview(batch)[_HEADER_BYTES:]
        if header.compression != NONE:
            data = yield from inflate(header.compression, data, _first_record_checked(header))
    except _BadRecordError:
        return Refusal(ErrorCode.INVALID_RECORD)
    except ProtocolError:
        # Java's zstd stream of no bytes is one of no records; the other codecs want a header.
        is_empty_zstd = header.compression == ZSTD and len(batch) == _HEADER_BYTES
        return Refusal(
            ErrorCode.INVALID_RECORD if is_empty_zstd else ErrorCode.UNKNOWN_SERVER_ERROR
        )
    try:
        most = max(header.record_count, 0)
        scan = yield from _scan_in_slices(data, 0, header, config, now_wall_ms, most)
        if config.max_decompressed_message_bytes < len(data):
            check_record_sizes(data, 0, len(data), config.max_decompressed_message_bytes)
    except ProtocolError:
        return Refusal(ErrorCode.INVALID_RECORD)
    if scan.count != header.record_count:
        return Refusal(ErrorCode.INVALID_RECORD)
    refused = yield from _record_errors(scan, header, config, now_wall_ms)
    if refused is not None:
        return refused
    if config.target_compression in (-1, header.compression):
        # Kafka hops over keys and values here, then lacks them to write the batch anew.
        return scan if scan.sequential else Refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
    rebuilt = yield from recode_in_slices(
        data,
        header,
        compression=config.target_compression,
        compression_level=config.compression_level,
        log_append_time_ms=now_wall_ms if config.log_append_time else None,
    )
    if rebuilt is None:
        return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
    if len(rebuilt) > config.max_message_bytes:
        return Refusal(ErrorCode.MESSAGE_TOO_LARGE, tells_start=False)
    return ValidatedBatch(memoryview(rebuilt), read_batch_header(rebuilt))


def _scan_in_slices(
    data: Buffer,
    start: int,
    header: BatchHeader,
    config: LogConfig,
    now_wall_ms: int,
    most: int = maxsize,
) -> Generator[None, None, RecordScan]:
    earliest_ms = latest_ms = None
    if not (config.log_append_time or header.timestamp_type):
        earliest_ms = now_wall_ms - config.timestamp_before_max_ms
        latest_ms = now_wall_ms + config.timestamp_after_max_ms
    return record_codec.scan_in_slices(
        data,
        start,
        len(data),
        header.base_timestamp,
        most,
        earliest_ms=earliest_ms,
        latest_ms=latest_ms,
        keys=config.compact,
    )


class _BadRecordError(ProtocolError):
    """The first record of a batch is bad: it is not inflated further."""


def _first_record_checked(header: BatchHeader) -> Callable[[Buffer], None]:
    def check(beginning: Buffer) -> None:
        try:
            record_codec.check_first_record(beginning)
        except (ProtocolError, IndexError) as error:
            raise _BadRecordError(str(error)) from None
        if not header.record_count:
            raise _BadRecordError("records in a batch of none")

    return check


def _validate_compressed(
    batch: Stored,
    header: BatchHeader,
    config: LogConfig,
    now_wall_ms: int,
    scan: RecordScan | None,
) -> ValidatedBatch | Refusal:
    """LogValidator.validateMessagesAndAssignOffsetsCompressed."""
    outcome = scan or all_at_once(_inspected(batch, header, config, now_wall_ms))
    if not isinstance(outcome, RecordScan):
        return outcome
    max_timestamp = _effective_max_timestamp(header, outcome)
    return _stored_in_place(batch, header, max_timestamp, config, now_wall_ms)


def _no_record_can_fail(header: BatchHeader, config: LogConfig, now_wall_ms: int) -> bool:
    """Whether the header alone shows that key and timestamp rules hold for each record.

    It is taken at its word about the max timestamp, which every producer computes.
    """
    if config.compact:
        return False
    if config.log_append_time:
        return not header.attributes & _TIMESTAMP_TYPE_BIT
    newest = header.max_timestamp
    if newest == NO_TIMESTAMP:
        return not header.attributes & _TIMESTAMP_TYPE_BIT
    if newest < NO_TIMESTAMP:
        return False
    return (
        newest - now_wall_ms <= config.timestamp_after_max_ms
        and config.timestamp_before_max_ms > now_wall_ms
    )


def _scan(checked: Buffer, header: BatchHeader, config: LogConfig, now_wall_ms: int) -> RecordScan:
    start, end = _HEADER_BYTES - ATTRIBUTES_OFFSET, len(checked)
    base, keys = header.base_timestamp, config.compact
    if config.log_append_time or header.attributes & _TIMESTAMP_TYPE_BIT:
        return record_codec.scan_records(checked, start, end, base, keys=keys)
    before_max_ms = config.timestamp_before_max_ms
    latest_ms = now_wall_ms + config.timestamp_after_max_ms
    if before_max_ms > _FAR_MS:
        # The limit, beyond a machine word, takes long to compute with: a nearer one mostly does.
        scan = record_codec.scan_records(
            checked, start, end, base, earliest_ms=_LONG_AGO_MS, latest_ms=latest_ms, keys=keys
        )
        if not scan.untimely:
            return scan
    earliest_ms = now_wall_ms - before_max_ms
    return record_codec.scan_records(
        checked, start, end, base, earliest_ms=earliest_ms, latest_ms=latest_ms, keys=keys
    )


def _effective_max_timestamp(header: BatchHeader, scan: RecordScan) -> int:
    """The records' newest timestamp, NO_TIMESTAMP at the least (LogValidator counts from there)."""
    is_stamped = header.attributes & _TIMESTAMP_TYPE_BIT
    newest = header.max_timestamp if is_stamped else scan.max_timestamp
    return newest if newest > NO_TIMESTAMP else NO_TIMESTAMP  # noqa: FURB136 - once a produce


def _may_be_refused(scan: RecordScan, header: BatchHeader, config: LogConfig) -> bool:
    """Whether `_record_errors` may find one: mostly not."""
    is_stamped = header.attributes & _TIMESTAMP_TYPE_BIT != 0
    return bool(scan.untimely) or is_stamped or (config.compact and bool(scan.keyless))


def _record_errors(
    scan: RecordScan, header: BatchHeader, config: LogConfig, now_wall_ms: int
) -> Generator[None, None, Refusal | None]:
    """Every record that breaks a rule; the batch fails as a whole (LogValidator.validateRecord)."""
    untimely: Sequence[int] = scan.untimely
    reason = None
    if header.attributes & _TIMESTAMP_TYPE_BIT and not _client_may_stamp(
        header, config, now_wall_ms
    ):
        untimely = range(scan.count)
        reason = "the producer must not set the timestamp type LogAppendTime, nor its limits break"
    keyless = (config.compact and scan.keyless) or []
    if not untimely and not keyless:
        return None
    if reason is None:
        earliest = now_wall_ms - config.timestamp_before_max_ms
        latest = now_wall_ms + config.timestamp_after_max_ms
        reason = f"the timestamp lies outside [{earliest}, {latest}]"
    told: Sequence[int] = keyless or untimely
    if untimely and keyless:
        told = yield from _in_either(untimely, keyless, scan.count)
    is_timestamp = len(told) > len(keyless)
    code = ErrorCode.INVALID_TIMESTAMP if is_timestamp else ErrorCode.INVALID_RECORD
    noun = "timestamp" if is_timestamp else "record"
    text = f"the batch was rejected because of {len(told)} invalid records ({noun} errors)"
    return Refusal(code, text, RecordErrors(told, keyless, reason))


def _in_either(
    one: Sequence[int], other: Sequence[int], count: int
) -> Generator[None, None, list[int]]:
    """The indexes below `count` that stand in either of two ascending sequences, ascending."""
    joined: list[int] = []
    begin = other_begin = 0
    for below in range(_LOOKED_AT, count + _LOOKED_AT, _LOOKED_AT):
        end, other_end = bisect_left(one, below, begin), bisect_left(other, below, other_begin)
        joined += sorted({*one[begin:end], *other[other_begin:other_end]})
        begin, other_begin = end, other_end
        yield
    return joined


def _client_may_stamp(header: BatchHeader, config: LogConfig, now_wall_ms: int) -> bool:
    """A batch that says LogAppendTime passes on a CreateTime topic if its one time is in range.

    Its bit is cleared then (LogValidator.validateTimestamp looks at the topic's type first).
    """
    newest = header.max_timestamp
    if config.log_append_time or newest == NO_TIMESTAMP:
        return False
    age_ms = now_wall_ms - newest
    return age_ms <= config.timestamp_before_max_ms and -age_ms <= config.timestamp_after_max_ms


def _stored_in_place(
    batch: Stored,
    header: BatchHeader,
    max_timestamp: int,
    config: LogConfig,
    now_wall_ms: int,
) -> ValidatedBatch:
    timestamp_type = CREATE_TIME
    if config.log_append_time:
        timestamp_type, max_timestamp = LOG_APPEND_TIME, now_wall_ms
    is_stamped = header.attributes & _TIMESTAMP_TYPE_BIT != 0
    if is_stamped == config.log_append_time and header.max_timestamp == max_timestamp:
        return ValidatedBatch(batch, header)
    new_header = patched_header(
        batch,
        0,
        header,
        base_offset=0,
        leader_epoch=-1,
        timestamp_type=timestamp_type,
        max_timestamp=max_timestamp,
    )
    return ValidatedBatch(batch, header, new_header)
