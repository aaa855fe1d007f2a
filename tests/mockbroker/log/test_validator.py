"""What is refused, in which order, and what is changed (Produce checks 3, 8 and 9)."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from mockbroker.config.log_config import CODECS, LogConfig
from mockbroker.log import validator
from mockbroker.log.results import AppendOrigin
from mockbroker.log.validator import Refusal, ValidatedBatch, inspect, validate, whole_batch_size
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.records import batch as batch_module
from mockbroker_protocol.records import record_codec
from mockbroker_protocol.records.batch import (
    build_batch,
    control_batch,
    iterate_records,
    pack_header,
    patched_header,
    read_batch_header,
    verify_crc,
)
from mockbroker_protocol.records.compression import compress
from mockbroker_protocol.records.record_codec import Record, encode_records
from mockbroker_protocol.slices import Aside, all_at_once
from tests.mockbroker.log.batches import NOW, plain

HOUR_MS = 3_600_000
DEFAULTS = LogConfig()
COMPACTED = LogConfig(compact=True, delete=False)
APPEND_TIME = LogConfig(log_append_time=True)
CLIENT = AppendOrigin.CLIENT
OK, INVALID = ErrorCode.NONE, ErrorCode.INVALID_RECORD
GZIP, ZSTD = 1, 4
LOOKED_AT = 64
"""Records of a refused batch a slice, for a test that is to see several."""


def _validate(
    records: bytes | bytearray,
    config: LogConfig = DEFAULTS,
    origin: AppendOrigin = AppendOrigin.CLIENT,
) -> Refusal:
    outcome = validate(records, config, origin, NOW)
    with patch("mockbroker.log.validator.SMALL_BATCH_BYTES", 0):
        inspected = all_at_once(inspect(records, config, NOW))
    again = validate(inspected, config, origin, NOW)  # a look beforehand changes nothing
    assert type(again) is type(outcome)
    if isinstance(again, Refusal) and isinstance(outcome, Refusal):
        assert _told(again) == _told(outcome)
    return outcome if isinstance(outcome, Refusal) else Refusal(OK)


def _told(refusal: Refusal) -> Refusal:
    """The same with all its records told, to compare it."""
    return refusal._replace(record_errors=list(refusal.record_errors))  # type: ignore[arg-type]


def _accept(records: bytes | bytearray, config: LogConfig = DEFAULTS) -> ValidatedBatch:
    outcome = validate(records, config, AppendOrigin.CLIENT, NOW)
    assert isinstance(outcome, ValidatedBatch)
    return outcome


def _with(batch: bytes, **fields: int) -> bytes:
    """The batch with header fields set and a checksum that fits them."""
    header = read_batch_header(batch)
    for name, value in fields.items():
        setattr(header, name, value)
    # A timestamp that changes and changes back makes the checksum be computed.
    newest = header.max_timestamp
    header.max_timestamp = newest ^ 1
    return (
        patched_header(
            pack_header(header) + batch[61:],
            0,
            header,
            base_offset=header.base_offset,
            leader_epoch=-1,
            max_timestamp=newest,
        )
        + batch[61:]
    )


def _of_codec(codec: int, payload: bytes, count: int = 1) -> bytes:
    """A batch of `count` records whose attributes name the codec of `payload`."""
    batch = plain(count=count)
    length = 49 + len(payload)
    return _with(batch[:8] + length.to_bytes(4, "big") + batch[12:61] + payload, attributes=codec)


def _stored(validated: ValidatedBatch) -> bytes:
    """The bytes as the log would store them."""
    batch = bytes(validated.batch)
    stored = batch if validated.new_header is None else validated.new_header + batch[61:]
    assert verify_crc(stored, 0, read_batch_header(stored))
    return stored


WHOLE = len(plain())


@pytest.mark.parametrize(
    ("records", "pos", "size"),
    [
        (b"", 0, 0),
        (plain()[:11], 0, 0),
        (plain()[:16], 0, 0),
        (plain()[:-1], 0, 0),
        (plain(), 0, WHOLE),
        (plain() + b"junk", 0, WHOLE),
        (plain() + b"junk", WHOLE, 0),
        (plain() + plain(), WHOLE, WHOLE),
        (plain()[:16] + b"\1" + plain()[17:], 0, WHOLE),
        (plain()[:16] + b"\3" + plain()[17:], 0, None),
        (plain() + b"\0" * 12, WHOLE, None),
        (plain() + b"\xff" * 20, WHOLE, None),
    ],
)
def test_whether_a_whole_batch_begins_somewhere(records: bytes, pos: int, size: int | None) -> None:
    if size is None:
        with pytest.raises(ProtocolError):
            whole_batch_size(records, pos)
    else:
        assert whole_batch_size(records, pos) == size


CORRUPT = bytearray(plain())
CORRUPT[-1] ^= 1


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (_with(plain(), batch_length=40), ErrorCode.CORRUPT_MESSAGE),
        (plain(base_offset=1), INVALID),
        (bytes(CORRUPT), ErrorCode.CORRUPT_MESSAGE),
        (plain(2000), ErrorCode.MESSAGE_TOO_LARGE),
        (_with(plain(), record_count=0, last_offset_delta=-1), INVALID),
        (_with(plain(), record_count=2), INVALID),
        (_with(plain(), record_count=2, last_offset_delta=1), INVALID),
        (_with(plain(count=3), record_count=2, last_offset_delta=1), INVALID),
        (control_batch(1, 0, True, 0, NOW), INVALID),
        (_with(plain(), producer_id=1, producer_epoch=0, base_sequence=-1), INVALID),
        (_with(plain(), producer_id=1, producer_epoch=0, base_sequence=0), OK),
        (_with(plain(), attributes=5), ErrorCode.UNKNOWN_SERVER_ERROR),
        (_with(plain(), attributes=GZIP), ErrorCode.UNKNOWN_SERVER_ERROR),
        (_of_codec(ZSTD, b""), INVALID),
        (_of_codec(GZIP, b""), ErrorCode.UNKNOWN_SERVER_ERROR),
        (_with(plain(count=2, compression=GZIP), record_count=3, last_offset_delta=2), INVALID),
    ],
)
def test_a_batch_that_is_wrong_as_a_whole(records: bytes, expected: ErrorCode) -> None:
    validated = _validate(records, LogConfig(max_message_bytes=1000))
    assert validated.error is expected
    assert (list(validated.record_errors), validated.message) == ([], None)


def test_the_order_of_the_checks() -> None:
    """Base offset, then size, then checksum, then what the header says."""
    tiny = LogConfig(max_message_bytes=50)
    bad = bytearray(_with(plain(), record_count=5))
    bad[-1] ^= 1
    moved = bytearray(bad)
    moved[7] = 1
    assert _validate(moved, tiny).error is INVALID
    assert _validate(bad, tiny).error is ErrorCode.MESSAGE_TOO_LARGE
    assert _validate(bad).error is ErrorCode.CORRUPT_MESSAGE


def test_errors_after_which_the_log_start_is_not_told() -> None:
    assert not _validate(plain(), LogConfig(max_message_bytes=50)).tells_start
    assert not _validate(bytes(CORRUPT)).tells_start
    assert _validate(_with(plain(), record_count=5)).tells_start


@pytest.mark.parametrize("compression", [0, GZIP])
def test_a_compacted_topic_names_every_record_without_a_key(compression: int) -> None:
    keys = [b"k", None, b"k", None]
    batch = build_batch(
        [Record(n, NOW, key, b"v") for n, key in enumerate(keys)], compression=compression
    )
    validated = _validate(batch, COMPACTED)
    assert validated.error is INVALID
    assert [error.batch_index for error in validated.record_errors] == [1, 3]
    assert validated.message is not None
    assert _validate(plain(key=b"k", compression=compression), COMPACTED).error is OK


@pytest.mark.parametrize("compression", [0, GZIP])
@pytest.mark.parametrize(
    ("timestamp", "bad"),
    [
        (NOW, []),
        (NOW + HOUR_MS - 2, []),
        (NOW + HOUR_MS - 1, [2]),
        (NOW + HOUR_MS + 1, [0, 1, 2]),
        (0, []),
    ],
)
def test_timestamps_may_be_an_hour_ahead(timestamp: int, bad: list[int], compression: int) -> None:
    batch = plain(count=3, timestamp=timestamp, step_ms=1, compression=compression)
    validated = _validate(batch)
    assert validated.error is (ErrorCode.INVALID_TIMESTAMP if bad else OK)
    assert [error.batch_index for error in validated.record_errors] == bad


def test_timestamps_too_old_when_the_topic_says_so() -> None:
    config = LogConfig(timestamp_before_max_ms=1000)
    assert _validate(plain(timestamp=NOW - 1000), config).error is OK
    refused = _validate(plain(count=3, timestamp=NOW - 1001, step_ms=1), config)
    assert refused.error is ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in refused.record_errors] == [0]


@pytest.mark.parametrize(("timestamp", "refused"), [(-(1 << 63) + NOW, True), (-(1 << 62), False)])
def test_by_default_no_timestamp_is_too_old_that_64_bits_tell_apart(
    timestamp: int, refused: bool
) -> None:
    # Java's difference to now overflows, and says that such a timestamp is to come.
    told = ErrorCode.INVALID_TIMESTAMP if refused else OK
    assert _validate(plain(timestamp=timestamp)).error is told


def test_no_timestamp_is_always_allowed() -> None:
    assert _validate(plain(timestamp=-1), LogConfig(timestamp_before_max_ms=1)).error is OK


def test_a_key_error_hides_a_timestamp_error_of_the_same_record_only() -> None:
    late = NOW + HOUR_MS + 1
    batch = build_batch([Record(0, late, None, b""), Record(1, late, b"k", b"")])
    validated = _validate(batch, COMPACTED)
    assert validated.error is ErrorCode.INVALID_TIMESTAMP
    keyless, late_one = validated.record_errors
    assert "key" in keyless.message
    assert "timestamp" in late_one.message
    only_key = _validate(build_batch([Record(0, late, None, b"")]), COMPACTED)
    assert only_key.error is INVALID


@pytest.mark.parametrize("batch", [plain(), bytearray(plain()), plain(compression=GZIP)])
def test_a_sound_batch_is_stored_as_it_came(batch: bytes) -> None:
    validated = _accept(batch)
    assert validated.new_header is None
    assert bytes(validated.batch) == batch


def test_what_follows_the_batch_is_trimmed() -> None:
    assert bytes(_accept(plain() + b"junk").batch) == plain()


@pytest.mark.parametrize("compression", [0, GZIP])
def test_log_append_time_replaces_the_max_timestamp_only(compression: int) -> None:
    batch = plain(count=2, timestamp=NOW - 500, compression=compression)
    stored = _stored(_accept(batch, APPEND_TIME))
    header = read_batch_header(stored)
    assert (header.timestamp_type, header.max_timestamp) == (1, NOW)
    assert header.base_timestamp == NOW - 500
    assert stored[61:] == batch[61:]
    assert [record.timestamp for record in iterate_records(stored, 0, header)] == [NOW, NOW]


def test_a_clients_append_time_bit_is_cleared_under_create_time() -> None:
    stored = _stored(_accept(plain(timestamp_type=1)))
    assert read_batch_header(stored).timestamp_type == 0
    assert read_batch_header(stored).max_timestamp == NOW


@pytest.mark.parametrize(
    ("config", "timestamp"),
    [(APPEND_TIME, NOW), (DEFAULTS, -1), (DEFAULTS, NOW + HOUR_MS + 1)],
)
def test_a_clients_append_time_bit_is_refused_elsewhere(config: LogConfig, timestamp: int) -> None:
    refused = _validate(plain(count=2, timestamp_type=1, timestamp=timestamp), config)
    assert refused.error is ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in refused.record_errors] == [0, 1]


def test_a_wrong_max_timestamp_is_corrected_where_the_records_are_walked() -> None:
    batch = _with(plain(count=2, compression=GZIP), max_timestamp=NOW - 7)
    assert read_batch_header(_stored(_accept(batch))).max_timestamp == NOW


def test_a_wrong_max_timestamp_of_a_tiny_batch_is_corrected() -> None:
    for wrong in (NOW - 7, -1, -5):
        batch = _with(plain(count=2), max_timestamp=wrong)
        assert read_batch_header(_stored(_accept(batch))).max_timestamp == NOW


@pytest.mark.parametrize("compression", [0, GZIP])
def test_timestamps_below_0_count_as_none_in_the_header(compression: int) -> None:
    for size in (5, 500):
        batch = plain(size, timestamp=-5, compression=compression)
        assert read_batch_header(_stored(_accept(batch))).max_timestamp == -1


def test_timestamps_below_0_cannot_be_stored_in_another_codec() -> None:
    config = LogConfig(target_compression=CODECS["gzip"])
    assert _validate(plain(timestamp=-5), config).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert _validate(plain(timestamp=-1), config).error is OK


def test_offsets_with_gaps_are_put_right_only_where_records_are_written_anew() -> None:
    records = [Record(0, NOW, b"k", b"v"), Record(5, NOW, b"k", b"w")]
    gap = encode_records(records, 0, NOW)
    gzipped = _of_codec(GZIP, compress(GZIP, gap), 2)
    assert _validate(gzipped).error is ErrorCode.UNKNOWN_SERVER_ERROR
    gzip = LogConfig(target_compression=CODECS["gzip"])
    assert _validate(gzipped, gzip).error is ErrorCode.UNKNOWN_SERVER_ERROR
    stored = _stored(_accept(gzipped, LogConfig(target_compression=CODECS["uncompressed"])))
    assert [r.offset for r in iterate_records(stored, 0, read_batch_header(stored))] == [0, 1]


@pytest.mark.parametrize("compression", [GZIP, ZSTD])
def test_a_compressed_record_may_be_only_so_large(compression: int) -> None:
    """max.decompressed.message.bytes: one record without its length, not the batch."""
    record = Record(0, NOW, b"k", b"v" * 292)
    body = len(encode_records([record], 0, NOW)) - 2
    batch = build_batch([record], compression=compression)
    assert _validate(batch, LogConfig(max_decompressed_message_bytes=body)).error is OK
    refused = _validate(batch, LogConfig(max_decompressed_message_bytes=body - 1))
    assert (refused.error, list(refused.record_errors)) == (INVALID, [])
    many = plain(20, count=90, compression=compression)
    assert _validate(many, LogConfig(max_decompressed_message_bytes=50)).error is OK
    assert _validate(plain(500), LogConfig(max_decompressed_message_bytes=50)).error is OK


@pytest.mark.parametrize("source", [0, GZIP])
@pytest.mark.parametrize(("name", "codec"), [("gzip", GZIP), ("zstd", ZSTD), ("uncompressed", 0)])
def test_the_topics_codec_wins(source: int, name: str, codec: int) -> None:
    batch = build_batch(
        [Record(n, NOW + n, b"k", b"v" * 40, [("h", b"x")]) for n in range(3)],
        compression=source,
        producer_id=5,
        producer_epoch=1,
        base_sequence=9,
    )
    stored = _stored(_accept(batch, LogConfig(target_compression=CODECS[name])))
    header = read_batch_header(stored)
    assert header.compression == codec
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 1, 9)
    before = list(iterate_records(batch, 0, read_batch_header(batch)))
    assert list(iterate_records(stored, 0, header)) == before


@pytest.mark.parametrize(
    ("codec", "low", "high"), [("gzip", 1, 9), ("lz4", 9, 17), ("zstd", 1, 19)]
)
def test_the_topics_level_decides_how_small(codec: str, low: int, high: int) -> None:
    lines = [b"%d times %d is %d; " % (n, n % 7, n * (n % 7)) * 3 for n in range(300)]
    batch = build_batch([Record(n, NOW, b"k", line) for n, line in enumerate(lines)])
    sizes = [
        len(
            _stored(
                _accept(batch, LogConfig(target_compression=CODECS[codec], compression_level=level))
            )
        )
        for level in (low, high)
    ]
    assert sizes[0] > sizes[1]


def test_a_batch_that_grows_too_large_by_the_topics_codec_is_refused() -> None:
    batch = plain(5000, compression=GZIP)
    config = LogConfig(target_compression=CODECS["uncompressed"], max_message_bytes=1000)
    assert _validate(batch, config).error is ErrorCode.MESSAGE_TOO_LARGE


def test_coordinators_may_write_what_clients_may_not() -> None:
    marker = control_batch(1, 0, True, 0, NOW)
    assert _validate(marker, origin=AppendOrigin.COORDINATOR).error is OK


def test_records_that_do_not_parse_are_invalid() -> None:
    for position, byte in ((61, 0x7E), (61, 0x01), (61, 0xFF), (66, 0x7E)):
        broken = bytearray(plain(5))
        broken[position] = byte
        assert _validate(_with(bytes(broken))).error is INVALID


def test_a_batch_may_be_as_large_as_the_topic_allows() -> None:
    size = len(plain())
    assert _validate(plain(), LogConfig(max_message_bytes=size)).error is OK
    refused = _validate(plain(), LogConfig(max_message_bytes=size - 1))
    assert refused.error is ErrorCode.MESSAGE_TOO_LARGE


SCANNED_AT_ONCE = RECODED_AT_ONCE = 64


@pytest.fixture
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_codec, "SCANNED_AT_ONCE", SCANNED_AT_ONCE)
    monkeypatch.setattr(batch_module, "RECODED_AT_ONCE", RECODED_AT_ONCE)


@pytest.mark.usefixtures("short_slices")
def test_an_uncompressed_batch_is_looked_through_in_slices_where_a_rule_asks_for_it() -> None:
    count = 3 * SCANNED_AT_ONCE + 1
    keyed, other = plain(0, count=count, key=b"k"), plain(0, count=count)
    assert [len(list(inspect(keyed, config, NOW))) for config in (COMPACTED, DEFAULTS)] == [3, 0]
    with patch("mockbroker.log.validator.SMALL_BATCH_BYTES", 0):
        assert len(list(_validate(other, COMPACTED).record_errors)) == count


def test_records_that_break_two_rules_are_counted_in_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a batch of the largest size that is a hundred thousand, beside each of which one fails."""
    late, count = NOW + HOUR_MS + 1, 4 * LOOKED_AT + 1
    records = [
        Record(index, NOW if index % 3 == 1 else late, None if index % 3 else b"k", b"")
        for index in range(count)
    ]
    batch = build_batch(records)
    monkeypatch.setattr(validator, "_LOOKED_AT", LOOKED_AT)
    turns = len(list(inspect(batch, COMPACTED, NOW)))
    refused = _validate(batch, COMPACTED)
    assert turns >= 4
    assert refused.error is ErrorCode.INVALID_TIMESTAMP
    assert refused.message is not None
    assert f" {count} invalid records" in refused.message
    told = [(one.batch_index, "key" in one.message) for one in refused.record_errors]
    assert told == [(index, index % 3 != 0) for index in range(count)]


def test_of_a_refused_batch_no_record_is_told_before_somebody_asks() -> None:
    batch = plain(0, count=LOOKED_AT)
    with patch("mockbroker.log.results.RecordError") as made:
        refused = validate(batch, COMPACTED, CLIENT, NOW)
        assert isinstance(refused, Refusal)
        assert (len(refused.record_errors), made.call_count) == (LOOKED_AT, 0)
        for count, _ in enumerate(refused.record_errors, 1):
            assert made.call_count == count


@pytest.mark.usefixtures("short_slices")
@pytest.mark.parametrize("source", [0, GZIP])
def test_a_batch_gets_the_topics_codec_in_slices(source: int) -> None:
    count = 3 * RECODED_AT_ONCE + 1
    batch = plain(0, count=count, key=b"k", compression=source)
    config = LogConfig(target_compression=CODECS["zstd"], max_message_bytes=1 << 20)
    steps = list(inspect(batch, config, NOW))
    assert len(steps) > 2 * 3  # each slice is read, then written
    with patch("mockbroker_protocol.records.batch.PACKED_AT_ONCE_BYTES", 1024):
        again = list(inspect(batch, config, NOW))
    assert [type(step) for step in again] == [*(type(step) for step in steps), Aside]
    stored = _stored(_accept(batch, config))
    header = read_batch_header(stored)
    assert (header.compression, header.record_count) == (ZSTD, count)
    before = list(iterate_records(batch, 0, read_batch_header(batch)))
    assert list(iterate_records(stored, 0, header)) == before


@pytest.mark.usefixtures("short_slices")
def test_a_very_large_batch_is_looked_through_instead_of_counted_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch = plain(0, count=2 * SCANNED_AT_ONCE + 1)
    monkeypatch.setattr(validator, "_COUNTED_AT_ONCE_BYTES", 1024)
    assert len(list(inspect(batch, DEFAULTS, NOW))) == 2
