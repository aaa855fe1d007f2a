"""How a case asks and what it is told: fetches of parts, answers as a list of partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
    ReplicaState,
)
from mockbroker_protocol.schema import ZERO_UUID
from mockbroker_protocol.versions import FETCH_TOPIC_IDS
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FIRST_VERSION_WITH_REPLICA_STATE = 15
SESSIONLESS = (0, -1)
NEW_SESSION = (0, 0)
UNSUPPORTED_COMPRESSION_TYPE = 76
MAX_INT32 = 2**31 - 1

Place = tuple[str, int]
Session = tuple[int, int]


class Topic(NamedTuple):
    """A topic by both of its names; no two tests share one."""

    name: str
    id: bytes = ZERO_UUID

    def at(self, index: int, offset: int = 0, limit: int = 1 << 20, **values: Any) -> Part:
        return Part(self, index, offset, limit, values)


class Part(NamedTuple):
    """A partition to read; `values` are further fields of the request, such as leader epochs."""

    topic: Topic
    partition: int
    offset: int
    limit: int
    values: dict[str, Any]


class Got:
    """What an answer tells of one partition."""

    def __init__(self, topic: str, data: FetchResponsePartition) -> None:
        self.topic = topic
        self.data = data
        self.index = data.partition_index
        self.error = data.error_code
        self.high_watermark = data.high_watermark
        self.last_stable_offset = data.last_stable_offset
        self.log_start_offset = data.log_start_offset
        # Only 3.9 has null records, and only where it refuses a compression.
        assert data.records is not None or self.error == UNSUPPORTED_COMPRESSION_TYPE
        records = data.records if isinstance(data.records, list) else [data.records or b""]
        self.records = b"".join(records)
        self.size = len(self.records)
        self.aborted: list[tuple[int, int]] | None = None
        if data.aborted_transactions is not None:
            self.aborted = [
                (gone.producer_id, gone.first_offset) for gone in data.aborted_transactions
            ]

    @property
    def place(self) -> Place:
        return self.topic, self.index

    @property
    def positions(self) -> tuple[int, int, int]:
        """High watermark, last stable offset, log start."""
        return self.high_watermark, self.last_stable_offset, self.log_start_offset

    def __repr__(self) -> str:
        return f"Got({self.topic}-{self.index}: {self.data!r})"


class Answer:
    """A fetch response, flattened; `names` finds topics that are named by id."""

    def __init__(self, response: FetchResponse, names: dict[bytes, str], elapsed_ms: float) -> None:
        self.response = response
        self.elapsed_ms = elapsed_ms
        self.error = response.error_code
        self.session_id = response.session_id
        self.parts = [
            Got(topic.topic or names.get(topic.topic_id, "?"), data)
            for topic in response.responses
            for data in topic.partitions
        ]

    @property
    def sizes(self) -> list[int]:
        return [got.size for got in self.parts]

    @property
    def errors(self) -> list[int]:
        return [got.error for got in self.parts]

    @property
    def indexes(self) -> list[int]:
        return [got.index for got in self.parts]

    @property
    def places(self) -> list[Place]:
        return [got.place for got in self.parts]

    @property
    def only(self) -> Got:
        (got,) = self.parts
        return got

    @property
    def status(self) -> tuple[int, int]:
        """Top-level error and session id."""
        return self.error, self.session_id


class Reader(BlockingConnection):
    """A connection that fetches."""

    def __init__(self, address: str, source: str = "") -> None:
        super().__init__(address, source)
        self._names: dict[bytes, str] = {}

    def fetch(self, *parts: Part, version: int = 12, **options: Any) -> Answer:
        """Fetch and wait for the answer; options as of `request`."""
        self.ask(*parts, version=version, **options)
        return self.answer()

    def ask(self, *parts: Part, version: int = 12, **options: Any) -> None:
        """Only send the fetch."""
        self._names.update({part.topic.id: part.topic.name for part in parts})
        for topic, _ in options.get("forget", ()):
            self._names[topic.id] = topic.name
        self.send(request(*parts, version=version, **options), version)

    def answer(self) -> Answer:
        response = self.receive(FetchResponse)
        return Answer(response, self._names, self.elapsed_ms)

    def open_session(self, *parts: Part, **options: Any) -> tuple[int, Answer]:
        """A full fetch with a session; its id and answer."""
        answer = self.fetch(*parts, session=NEW_SESSION, **options)
        assert answer.error == 0
        assert answer.session_id > 0
        return answer.session_id, answer


def request(
    *parts: Part,
    version: int = 12,
    session: Session = SESSIONLESS,
    forget: Sequence[tuple[Topic, int]] = (),
    wait: int = 0,
    min_bytes: int = 0,
    max_bytes: int = MAX_INT32,
    isolation: int = 0,
    replica_id: int = -1,
    replica_epoch: int = -1,
    rack: str = "",
    cluster_id: str | None = None,
) -> FetchRequest:
    """A fetch as `version` writes it: topics by name or id, adjacent parts of one in one entry."""
    by_state = version >= FIRST_VERSION_WITH_REPLICA_STATE
    message = FetchRequest(
        -1 if by_state else replica_id,
        wait,
        min_bytes,
        max_bytes,
        isolation,
        *session,
        list(_topics(parts, version)),
        [_forgotten(topic, index, version) for topic, index in forget],
        rack,
        cluster_id,
    )
    if by_state and (replica_id != -1 or replica_epoch != -1):
        message.replica_state = ReplicaState(replica_id, replica_epoch)
    return message


def _topics(parts: Iterable[Part], version: int) -> Iterable[FetchRequestTopic]:
    last: tuple[Topic, FetchRequestTopic] | None = None
    for part in parts:
        if last is None or last[0] != part.topic:
            entry = FetchRequestTopic(*_naming(part.topic, version), [])
            last = part.topic, entry
            yield entry
        asked = FetchRequestPartition(
            part.partition, fetch_offset=part.offset, partition_max_bytes=part.limit
        )
        for name, value in part.values.items():
            assert hasattr(asked, name)
            setattr(asked, name, value)
        last[1].partitions.append(asked)


def _forgotten(topic: Topic, index: int, version: int) -> FetchRequestForgottenTopic:
    return FetchRequestForgottenTopic(*_naming(topic, version), [index])


def _naming(topic: Topic, version: int) -> tuple[str, bytes]:
    if version >= FETCH_TOPIC_IDS:
        return "", topic.id
    return topic.name, ZERO_UUID
