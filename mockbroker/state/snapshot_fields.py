"""What a snapshot's file says, taken for nothing that it is not: each field has a type and bounds.

`snapshot_file` calls `read_snapshot` with the parsed index. What passes can be restored: names,
configs and numbers are such as the broker itself would have written, batches are whole and their
records can be read. `FieldError` names the first field that is wrong, in one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from mockbroker.config.broker import AUTHORIZERS, BrokerConfig
from mockbroker.config.dynamic import check_dynamic
from mockbroker.config.errors import ConfigError
from mockbroker.config.registry import BROKER
from mockbroker.config.topic import TopicConfig
from mockbroker.journal.printable import printable
from mockbroker.metadata.acl_control import acl_problem
from mockbroker.metadata.acls import Acl, is_binding
from mockbroker.metadata.client_quotas import quota_problem
from mockbroker.metadata.delegation_tokens import DelegationToken
from mockbroker.metadata.names import (
    CLUSTER_METADATA_TOPIC,
    RESERVED_IDS,
    invalid_topic_name,
    unified_name,
)
from mockbroker.metadata.scram import MAX_ITERATIONS, MECHANISMS, MIN_ITERATIONS, ScramCredential
from mockbroker.state.snapshot import LogImage, PartitionImage, Snapshot, TopicImage
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.primitives import MAX_STRING_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.metadata.changes import Entity, ScramUser
    from mockbroker_protocol.records.batch import BatchHeader

T = TypeVar("T")

FORMAT: Final = "mockbroker-snapshot"
FORMAT_VERSION: Final = 4
"""2 has client quotas and ACLs, 3 SCRAM credentials, 4 delegation tokens; an older file is read as
one without."""
SCRAM_BYTES: Final = ("salt", "stored_key", "server_key")
INDEX: Final = "snapshot.json"

# Restored epochs and offsets go on growing, and must fit into an int32 and an int64 then.
MAX_EPOCH: Final = 1 << 30
MAX_OFFSET: Final = 1 << 62
MAX_INT64: Final = (1 << 63) - 1
MAX_NODE_ID: Final = (1 << 31) - 1
MAX_ACL_CODE: Final = 127
MAX_PARTITIONS: Final = 200_000
"""Of all topics together."""
_SCRAM: Final = "scram_credentials"
_TOKENS: Final = "delegation_tokens"
TOKEN_TIMES: Final = ("issue_wall_ms", "max_wall_ms", "expiry_wall_ms")
_MAX_CODEC: Final = 4
_TOPIC_ID_BYTES: Final = 16
_QUOTED_CHARACTERS: Final = 80
_WHERE_CHARACTERS: Final = 200


class FieldError(Exception):
    """Which field is wrong, and why."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{printable(where, _WHERE_CHARACTERS)}: {problem}")


def quoted(value: object) -> str:
    """A value from outside as it may stand in a line: printable, and not long."""
    if isinstance(value, dict | list):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, str):
        return f"'{printable(value, _QUOTED_CHARACTERS)}'"
    return printable(repr(value), _QUOTED_CHARACTERS)


def read_snapshot(fields: object, read_log: Callable[[str], bytes]) -> Snapshot:
    """The snapshot that the index describes; `read_log` takes a log out of the archive by its name.

    Raises FieldError, and what `read_log` raises.
    """
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise FieldError(INDEX, f"format is not {FORMAT!r}")
    version = fields.get("version")
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise FieldError("version", f"{quoted(version)}; allowed: 1 to {FORMAT_VERSION}")
    configs = {
        _node(name): _broker_configs(f"broker_configs[{quoted(name)}]", name, one)
        for name, one in _take("", fields, "broker_configs", dict).items()
    }
    reader = _TopicReader(read_log)
    topics = tuple(
        reader.topic(f"topics[{at}].", one)
        for at, one in enumerate(_take("", fields, "topics", list))
    )
    for what in (
        {unified_name(topic.name) for topic in topics},
        {topic.topic_id for topic in topics},
    ):
        if len(what) < len(topics):
            raise FieldError("topics", "two have the same name or id, or names that collide")
    next_producer_id = _number("", fields, "next_producer_id", MAX_OFFSET)
    has_all = version > 1
    quotas = _client_quotas(_take("", fields, "client_quotas", list) if has_all else [])
    acls = _acls(_take("", fields, "acls", list) if has_all else [])
    scram = _scram_credentials(_take("", fields, _SCRAM, list) if version > 2 else [])
    tokens = _delegation_tokens(_take("", fields, _TOKENS, list) if version > 3 else [])
    return Snapshot(topics, configs, next_producer_id, 0, quotas, acls, scram, tokens)


# -- fields ---------------------------------------------------------------------------------


def _take(where: str, fields: object, name: str, kind: type[T]) -> T:
    value = fields.get(name) if isinstance(fields, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise FieldError(f"{where}{name}", f"{quoted(value)} is not of type {kind.__name__}")
    return value


def _number(where: str, fields: object, name: str, most: int) -> int:
    value = _take(where, fields, name, int)
    if not 0 <= value <= most:
        raise FieldError(f"{where}{name}", f"{_digits(value)} is not within 0 and {most}")
    return value


def _digits(value: int) -> str:
    bits = value.bit_length()
    return str(value) if bits <= 64 else f"a number of {bits} bits"


def _texts(where: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise FieldError(where, "not a table of texts")
    for text in (*value, *value.values()):
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise FieldError(where, f"{quoted(text)} is no text") from None
        if size > MAX_STRING_BYTES:
            raise FieldError(where, f"a text of {size} bytes is longer than {MAX_STRING_BYTES}")
    return value


def _node(name: str) -> str:
    if name and not (name.isascii() and name.isdigit() and len(name) <= len(str(MAX_NODE_ID))):
        raise FieldError("broker_configs", f"{quoted(name)} is no id of a node")
    return name


def _broker_configs(where: str, name: str, value: object) -> dict[str, str]:
    texts = _texts(where, value)
    try:
        # As static ones too: how far threads may change at once is no question here.
        known = {
            key: text
            for key, text in texts.items()
            if key not in AUTHORIZERS and BROKER.get(key) is not None
        }
        check_dynamic(BrokerConfig(known), texts, cluster_default=not name)
    except ConfigError as error:
        raise FieldError(where, quoted(str(error))) from None
    return texts


# -- quotas and ACLs ------------------------------------------------------------------------


def _client_quotas(entries: list[object]) -> dict[Entity, dict[str, float]]:
    quotas: dict[Entity, dict[str, float]] = {}
    for at, one in enumerate(entries):
        where = f"client_quotas[{at}]."
        entity = tuple(
            _quota_part(f"{where}entity", part) for part in _take(where, one, "entity", list)
        )
        values = {
            key: _rate(f"{where}values", value)
            for key, value in _take(where, one, "values", dict).items()
        }
        problem = quota_problem(entity, [*values.items()])
        if problem is not None:
            raise FieldError(where[:-1], quoted(problem))
        kinds = [kind for kind, _ in entity]
        if not values or kinds != sorted(set(kinds)) or entity in quotas:
            raise FieldError(where[:-1], "it has no quotas, is unsorted or was there before")
        quotas[entity] = values
    return quotas


def _quota_part(where: str, part: object) -> tuple[str, str | None]:
    if not isinstance(part, list) or len(part) != 2:
        raise FieldError(where, f"{quoted(part)} is no pair of a type and a name")
    kind, name = part
    if not isinstance(kind, str) or not isinstance(name, str | None):
        raise FieldError(where, f"{quoted(part)} is no pair of texts")
    _texts(where, {kind: name or ""})
    return kind, name


def _rate(where: str, value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise FieldError(where, f"{quoted(value)} is no number")
    try:
        return float(value)
    except OverflowError:
        raise FieldError(where, f"{_digits(int(value))} is too large") from None


def _acls(entries: list[object]) -> tuple[Acl, ...]:
    acls: dict[Acl, None] = {}
    for at, one in enumerate(entries):
        where = f"acls[{at}]."
        name, principal, host = (
            _take(where, one, field, str) for field in ("resource_name", "principal", "host")
        )
        _texts(where[:-1], dict.fromkeys((name, principal, host), ""))
        resource, pattern, operation, permission = (
            _number(where, one, field, MAX_ACL_CODE)
            for field in ("resource_type", "pattern_type", "operation", "permission")
        )
        acl = Acl(resource, name, pattern, principal, host, operation, permission)
        problem = acl_problem(acl) if is_binding(acl) else "its codes mean no ACL"
        if problem is None and acl in acls:
            problem = "it was there before"
        if problem is not None:
            raise FieldError(where[:-1], quoted(problem))
        acls[acl] = None
    return tuple(acls)


def _scram_credentials(entries: list[object]) -> dict[ScramUser, ScramCredential]:
    found: dict[ScramUser, ScramCredential] = {}
    for at, one in enumerate(entries):
        where = f"{_SCRAM}[{at}]."
        user = _take(where, one, "user", str)
        _texts(f"{where}user", {user: ""})
        mechanism = _number(where, one, "mechanism", max(MECHANISMS))
        iterations = _number(where, one, "iterations", MAX_ITERATIONS)
        if not user or mechanism not in MECHANISMS or iterations < MIN_ITERATIONS:
            raise FieldError(where[:-1], "it has no user, no known mechanism or few iterations")
        if (user, mechanism) in found:
            raise FieldError(where[:-1], "it was there before")
        salt, stored_key, server_key = (_hex(where, one, name) for name in SCRAM_BYTES)
        found[user, mechanism] = ScramCredential(salt, stored_key, server_key, iterations)
    return found


def _delegation_tokens(entries: list[object]) -> dict[str, DelegationToken]:
    """Tokens without their HMACs, which follow from the secret key of who restores them."""
    found: dict[str, DelegationToken] = {}
    for at, one in enumerate(entries):
        where = f"{_TOKENS}[{at}]."
        texts = [_take(where, one, name, str) for name in ("token_id", "owner", "requester")]
        renewers = _take(where, one, "renewers", list)
        for text in (*texts, *renewers):
            if not isinstance(text, str):
                raise FieldError(f"{where}renewers", f"{quoted(text)} is no text")
            _texts(where[:-1], {text: ""})
        token_id, owner, requester = texts
        if token_id in found:
            raise FieldError(where[:-1], "it was there before")
        issue, latest, expiry = (_number(where, one, name, MAX_INT64) for name in TOKEN_TIMES)
        found[token_id] = DelegationToken(
            token_id, owner, requester, tuple(renewers), issue, latest, expiry, b""
        )
    return found


def _hex(where: str, fields: object, name: str) -> bytes:
    text = _take(where, fields, name, str)
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if not 0 < len(data) <= MAX_STRING_BYTES:
        # What it is, is not told: it may be a key.
        raise FieldError(f"{where}{name}", "it is no bytes in hexadecimal digits")
    return data


# -- topics ---------------------------------------------------------------------------------


class _TopicReader:
    """Reads topics, and counts their partitions."""

    def __init__(self, read_log: Callable[[str], bytes]) -> None:
        self._read_log = read_log
        self._defaults = BrokerConfig()
        self._partitions = 0

    def topic(self, where: str, fields: object) -> TopicImage:
        name = _take(where, fields, "name", str)
        if invalid_topic_name(name) is not None or name == CLUSTER_METADATA_TOPIC:
            raise FieldError(f"{where}name", f"{quoted(name)} is no name of a topic")
        topic_id = _topic_id(where, _take(where, fields, "id", str))
        configs = _texts(f"{where}configs", _take(where, fields, "configs", dict))
        try:
            TopicConfig(configs, self._defaults).validate()
        except ConfigError as error:
            raise FieldError(f"{where}configs", quoted(str(error))) from None
        partitions = _take(where, fields, "partitions", list)
        if not partitions:
            raise FieldError(f"{where}partitions", "there are none")
        self._partitions += len(partitions)
        if self._partitions > MAX_PARTITIONS:
            raise FieldError(
                f"{where}partitions", f"there are more than {MAX_PARTITIONS} with those before"
            )
        images = tuple(
            self._partition(f"{where}partitions[{index}].", one)
            for index, one in enumerate(partitions)
        )
        return TopicImage(name, topic_id, configs, images)

    def _partition(self, where: str, fields: object) -> PartitionImage:
        start, high_watermark, end = (
            _number(where, fields, name, MAX_OFFSET)
            for name in ("log_start_offset", "high_watermark", "log_end_offset")
        )
        if not start <= high_watermark <= end:
            raise FieldError(where[:-1], f"offsets {start}, {high_watermark}, {end} do not grow")
        replicas = _take(where, fields, "replicas", list)
        if (
            not replicas
            or not all(type(node) is int and 0 <= node <= MAX_NODE_ID for node in replicas)
            or len(set(replicas)) < len(replicas)
        ):
            raise FieldError(f"{where}replicas", f"{quoted(replicas)} is not a list of nodes")
        batches: tuple[bytes, ...] = ()
        if isinstance(fields, dict) and fields.get("log") is not None:
            batches = self._batches(where, _take(where, fields, "log", str), end)
        elif start != end:
            raise FieldError(f"{where}log", "it is missing")
        return PartitionImage(
            tuple(replicas),
            _number(where, fields, "leader_epoch", MAX_EPOCH),
            LogImage(batches, start, high_watermark, end),
        )

    def _batches(self, where: str, name: str, end: int) -> tuple[bytes, ...]:
        from mockbroker_protocol.records.batch import iterate_batches

        data = self._read_log(name)
        where = f"{where}log: {quoted(name)}"
        batches: list[bytes] = []
        size = next_offset = 0
        try:
            for position, header in iterate_batches(data):
                size = position + header.size_in_bytes
                if header.base_offset < next_offset or not _is_whole(data, position, header):
                    raise FieldError(where, f"the batch at {position} is damaged")
                next_offset = header.last_offset + 1
                batches.append(data[position:size])
        except ProtocolError as error:
            raise FieldError(where, quoted(str(error))) from None
        if size != len(data) or next_offset != end or not batches:
            raise FieldError(where, f"it does not end at offset {end}")
        return tuple(batches)


def _topic_id(where: str, text: str) -> bytes:
    try:
        topic_id = bytes.fromhex(text)
    except ValueError:
        topic_id = b""
    if len(topic_id) != _TOPIC_ID_BYTES:
        raise FieldError(f"{where}id", f"not {_TOPIC_ID_BYTES} bytes")
    if topic_id in RESERVED_IDS:
        raise FieldError(f"{where}id", "no topic has this id")
    return topic_id


def _is_whole(data: bytes, position: int, header: BatchHeader) -> bool:
    """Whether a stored batch is one that a leader would have stored.

    Its checksum holds, its records can be read and lie within its offsets. Raises ProtocolError.
    """
    from mockbroker_protocol.records.batch import (
        iterate_records,
        parse_control_record,
        verify_crc,
    )

    if (
        not verify_crc(data, position, header)
        or not 0 <= header.last_offset_delta < MAX_NODE_ID
        or not -1 <= header.partition_leader_epoch <= MAX_EPOCH
        or not -1 <= header.producer_id <= MAX_OFFSET
        or header.producer_epoch < -1
        or header.base_sequence < -1
        or header.compression > _MAX_CODEC
    ):
        return False
    offset = header.base_offset - 1
    for record in iterate_records(data, position, header):
        if not offset < record.offset <= header.last_offset:
            return False
        offset = record.offset
        if header.is_control:
            parse_control_record(record)
    return True
