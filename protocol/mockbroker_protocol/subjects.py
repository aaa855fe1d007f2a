"""What a message is about: its topics and partitions, groups, transactional ids and errors.

Read off the field names, which are Kafka's, so every API is covered without a table. Called by who
looks at messages from outside (journal, fault rules), never on the way of an ordinary request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker_protocol.schema import ZERO_UUID, is_declared, schema_of
from mockbroker_protocol.schema_fields import fields_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    SelectsTopic = Callable[[str | None, bytes | None], bool | None]
    """Whether a topic of this name, or of this id, is meant; None: nobody knows."""

_TOPIC_FIELDS: Final = frozenset(
    {"topic", "topic_id", "topic_name", "topic_authorized_operations", "topic_config_error_code"}
)
_NOT_NAMED_TOPIC: Final = frozenset({"responses", "resources"})
_TOPIC_NAMES: Final = ("resource_name", "topic", "name", "topic_name")
_INDEXES: Final = ("partition_index", "partition", "index")
GROUP_FIELDS: Final = frozenset({"group_id", "group_ids", "groups_names", "groups"})
TRANSACTION_FIELDS: Final = frozenset(
    {"transactional_id", "transactional_ids", "v3_and_below_transactional_id"}
)
COORDINATOR_KEYS: Final = frozenset({"key", "coordinator_keys"})
"""Of FindCoordinator: groups or transactional ids, by its `key_type`."""
_TOPIC_RESOURCE: Final = 2

# What a field of a message is to its subjects.
_NOTHING: Final = 0
_GROUPS: Final = 1
_TRANSACTIONS: Final = 2
_KEYS: Final = 3
_TOPICS: Final = 4


class TopicRef(NamedTuple):
    """A topic in a message: its name or None, its id or None, and the partitions named there.

    `partitions` None: the message speaks of the topic as a whole.
    """

    name: str | None
    topic_id: bytes | None
    partitions: list[int] | None


class Subjects(NamedTuple):
    """What one message is about."""

    topics: list[TopicRef]
    groups: list[str]
    transactional_ids: list[str]


class _Shape:
    """Which fields of a class tell something, by their names and types."""

    __slots__ = ("errors", "naming", "nesting", "partitions", "telling")

    def __init__(self, cls: type) -> None:
        names = schema_of(cls).field_names
        self.nesting = [field.name for field in fields_of(cls) if field.type.struct is not None]
        """Those that hold a struct, or several."""
        self.telling = [
            (name, meaning, name in self.nesting)
            for name in names
            if (meaning := _meaning(name)) != _NOTHING or name in self.nesting
        ]
        """What tells of subjects: name, meaning, and whether structs are in it."""
        self.errors = [name for name in names if name.endswith("error_code")]
        self.naming = [name for name in _TOPIC_NAMES if name in names]
        """Where the struct of a topic may have its name."""
        self.partitions = [name for name in names if "partition" in name]
        """Which of it may list partitions."""


_shapes: Final[dict[type, _Shape]] = {}


def _shape_of(cls: type) -> _Shape:
    shape = _shapes.get(cls)
    if shape is None:
        shape = _shapes[cls] = _Shape(cls)
    return shape


def subjects_of(message: object) -> Subjects:
    """Everything that a request (or an answer) names."""
    found = Subjects([], [], [])
    _collect(message, found)
    return found


def _collect(message: object, found: Subjects) -> None:
    for name, meaning, nests in _shape_of(type(message)).telling:
        value: object = getattr(message, name)
        if meaning == _TOPICS:
            found.topics.extend(_topics(value))
            continue
        if meaning == _GROUPS:
            found.groups.extend(_texts(value))
        elif meaning == _TRANSACTIONS:
            found.transactional_ids.extend(_texts(value))
        elif meaning == _KEYS:
            key_type = getattr(message, "key_type", 0)
            keys = found.groups if key_type == 0 else found.transactional_ids
            if key_type in {0, 1}:
                keys.extend(_texts(value))
        if nests:
            for child in _structs(value):
                _collect(child, found)


def _meaning(name: str) -> int:
    if name in GROUP_FIELDS:
        return _GROUPS
    if name in TRANSACTION_FIELDS:
        return _TRANSACTIONS
    if name in COORDINATOR_KEYS:
        return _KEYS
    return _TOPICS if is_topic_list(name) else _NOTHING


def is_topic_list(name: str) -> bool:
    """Whether a field of this name lists topics."""
    return ("topic" in name and name not in _TOPIC_FIELDS) or name in _NOT_NAMED_TOPIC


def _texts(value: object) -> list[str]:
    """The non-empty texts in a field: it is one, or a list of them."""
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str) and text]


def _structs(value: object) -> Iterator[object]:
    for child in value if isinstance(value, list) else (value,):
        if child is not None:
            yield child


def _topics(value: object) -> Iterator[TopicRef]:
    for topic in value if isinstance(value, list) else ():
        if isinstance(topic, str):
            yield TopicRef(topic, None, None)
        elif getattr(topic, "resource_type", _TOPIC_RESOURCE) == _TOPIC_RESOURCE:
            yield topic_ref(topic)


def named_topic(topic: object) -> TopicRef:
    """The same without the partitions that it names, which may be many."""
    return TopicRef(*_named(topic), None)


def topic_ref(topic: object) -> TopicRef:
    """The topic that a struct of a message stands for."""
    return TopicRef(*_named(topic), _partitions(topic))


def _named(topic: object) -> tuple[str | None, bytes | None]:
    """Its name and its id."""
    name: object = None
    for field in _shape_of(type(topic)).naming:
        name = name or getattr(topic, field)
    topic_id: object = getattr(topic, "topic_id", ZERO_UUID)
    return (
        name if isinstance(name, str) and name else None,
        topic_id if isinstance(topic_id, bytes) and topic_id != ZERO_UUID else None,
    )


def concerns(message: object, selects: SelectsTopic, partition: int | None) -> bool:
    """Whether a request names a topic that is meant, and this partition of it if one is.

    It costs less than `subjects_of`: partitions are looked at where one is meant.
    """
    for name, meaning, nests in _shape_of(type(message)).telling:
        value: object = getattr(message, name)
        if meaning == _TOPICS:
            topics = value if isinstance(value, list) else ()
            if any(_is_meant(topic, selects, partition) for topic in topics):
                return True
        elif nests and any(concerns(child, selects, partition) for child in _structs(value)):
            return True
    return False


def _is_meant(topic: object, selects: SelectsTopic, partition: int | None) -> bool:
    if isinstance(topic, str):
        return selects(topic, None) is True
    if getattr(topic, "resource_type", _TOPIC_RESOURCE) != _TOPIC_RESOURCE:
        return False
    if selects(*_named(topic)) is not True:
        return False
    field = partition_list(topic)
    if field is None:
        return True
    indexes: list[object] = getattr(topic, field)
    if partition is None:
        return bool(indexes)
    return any(partition_index(one) == partition for one in indexes)


def partition_list(topic: object) -> str | None:
    """The field of a topic's struct that lists its partitions, by index or as structs."""
    for field in _shape_of(type(topic)).partitions:
        if isinstance(getattr(topic, field), list):
            return field
    return None


def _partitions(topic: object) -> list[int] | None:
    field = partition_list(topic)
    if field is None:
        return None
    return [partition_index(partition) for partition in getattr(topic, field)]


def partition_index(partition: object) -> int:
    """The index of a partition in a message: it is one, or a struct that has one."""
    if isinstance(partition, int):
        return partition
    for field in _INDEXES:
        index = getattr(partition, field, None)
        if isinstance(index, int):
            return index
    return -1


def errors_in(message: object) -> Iterator[int]:
    """The error codes in an answer, in document order, those that say 0 too."""
    if is_declared(type(message)):
        found: list[int] = []
        _add_errors(message, found)
        yield from found


def _add_errors(message: object, found: list[int]) -> None:
    shape = _shape_of(type(message))
    for name in shape.errors:
        code: object = getattr(message, name)
        if isinstance(code, int):
            found.append(code)
    for name in shape.nesting:
        for child in _structs(getattr(message, name)):
            _add_errors(child, found)
