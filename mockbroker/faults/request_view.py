"""A request as a rule's `when` sees it: who asks what about what, and the decoded request itself.

`FaultSet.fire` is given one for each request while rules are armed; nothing of it is worked out
before a rule looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mockbroker_protocol.api_keys import ALL_SPECS
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.produce import ProduceRequest
from mockbroker_protocol.subjects import topic_ref

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Protocol

    from mockbroker_protocol.primitives import Buffer
    from mockbroker_protocol.records.record_codec import Record
    from mockbroker_protocol.subjects import Subjects, TopicRef

    class Asking(Protocol):
        """The request that a rule is held against."""

        @property
        def api_key(self) -> int: ...
        @property
        def api_version(self) -> int: ...
        @property
        def client_id(self) -> str: ...
        @property
        def principal(self) -> str: ...
        @property
        def listener(self) -> str: ...
        @property
        def broker_id(self) -> int: ...
        @property
        def connection_id(self) -> int: ...

    class TopicRule(Protocol):
        """A rule about some topics or partitions: `armed_fault.ArmedFault`."""

        @property
        def partition(self) -> int | None: ...
        def selects_topic(self, name: str | None, topic_id: bytes | None) -> bool | None: ...
        def selects_one(self, ref: TopicRef) -> bool: ...

    class Revoking(Protocol):
        """What such a rule says: `fault.Fault`."""

        @property
        def revoked_operation(self) -> str: ...
        @property
        def topic(self) -> str | None: ...
        @property
        def group(self) -> str | None: ...
        @property
        def transactional_id(self) -> str | None: ...

    class AclRule(TopicRule, Protocol):
        """A rule that takes ACLs away: `armed_fault.ArmedFault`."""

        @property
        def fault(self) -> Revoking: ...

    NameOf = Callable[[bytes], str | None]


VARIABLES: Final = (
    "api",
    "version",
    "client",
    "principal",
    "listener",
    "broker",
    "connection",
    "topics",
    "groups",
    "transactional_ids",
    "records",
    "body",
)
"""What a condition may ask, by attribute in Python and by name in an expression."""


class ClientFacts:
    """What rules ask of the client of a request beside what it asks for: here nothing is known."""

    __slots__ = ()

    @property
    def shown_token(self) -> str | None:
        """What names the token that it logged in with; None without one."""
        return None

    def acls_to_lose(self, rule: AclRule, view: RequestView) -> Sequence[object]:  # noqa: ARG002
        """The ACLs of its principal that a rule would take away."""
        return ()


_NO_FACTS: Final = ClientFacts()


class RequestRecord(NamedTuple):
    """One record of a Produce; `headers` are pairs of name and bytes."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp: int


class RequestView:
    """One request. `body` is the decoded message, with Kafka's field names in snake_case."""

    __slots__ = (
        "_asking",
        "_meets",
        "_records",
        "_subjects",
        "body",
        "client_facts",
        "name_of",
    )

    def __init__(
        self,
        asking: Asking,
        body: object,
        subjects: Callable[[], Subjects],
        name_of: NameOf,
        meets: Callable[[TopicRule], bool] | None = None,
        client_facts: ClientFacts = _NO_FACTS,
    ) -> None:
        """`meets` is the method of that name, where it costs less than to list all topics."""
        self._asking = asking
        self._subjects = subjects
        self.name_of = name_of
        self._meets = meets
        self.client_facts = client_facts
        self._records: list[RequestRecord] | None = None
        self.body: Any = body

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.api} v{self.version} of {self.client!r}>"

    @property
    def api(self) -> str:
        """Kafka's name of the API."""
        return ALL_SPECS[self._asking.api_key].name

    @property
    def version(self) -> int:
        """The version of the request."""
        return self._asking.api_version

    @property
    def client(self) -> str:
        """The client id."""
        return self._asking.client_id

    @property
    def principal(self) -> str:
        """Who its client is: "User:alice"."""
        return self._asking.principal

    @property
    def listener(self) -> str:
        """The name of the listener."""
        return self._asking.listener

    @property
    def broker(self) -> int:
        """The node that was asked."""
        return self._asking.broker_id

    @property
    def connection(self) -> int:
        """The number of the connection."""
        return self._asking.connection_id

    @property
    def topic_refs(self) -> list[TopicRef]:
        """The topics and partitions that it speaks of; of a fetch, its session's too."""
        return self._subjects().topics

    def meets(self, rule: TopicRule) -> bool:
        """Whether a rule about some topics or partitions is about one that it speaks of."""
        if self._meets is None:
            return any(map(rule.selects_one, self.topic_refs))
        return self._meets(rule)

    @property
    def topics(self) -> list[str]:
        """The names of the topics that it speaks of, once each."""
        names = []
        for ref in self.topic_refs:
            name = ref.name
            if not name and ref.topic_id is not None:
                name = self.name_of(ref.topic_id)
            if name:
                names.append(name)
        return list(dict.fromkeys(names))

    @property
    def groups(self) -> list[str]:
        """The ids of the groups that it speaks of."""
        return self._subjects().groups

    @property
    def transactional_ids(self) -> list[str]:
        """The transactional ids that it speaks of."""
        return self._subjects().transactional_ids

    @property
    def records(self) -> list[RequestRecord]:
        """The records of a Produce, decompressed; those of a batch that is broken are left out."""
        if self._records is None:
            body = self.body
            self._records = (
                list(_records(body, self.name_of)) if isinstance(body, ProduceRequest) else []
            )
        return self._records


def _records(request: ProduceRequest, name_of: NameOf) -> Iterator[RequestRecord]:
    for topic in request.topic_data:
        ref = topic_ref(topic)
        name = ref.name or (name_of(ref.topic_id) if ref.topic_id is not None else None) or ""
        for data in topic.partition_data:
            for record in _decoded(data.records):
                headers = list(record.headers)
                yield RequestRecord(
                    name, data.index, record.key, record.value, headers, record.timestamp
                )


def _decoded(records: Buffer | list[Buffer] | None) -> list[Record]:
    from mockbroker_protocol.records import batch, legacy

    data = b"".join(records) if isinstance(records, list) else bytes(records or b"")
    found: list[Record] = []
    try:
        if batch.peek_magic(data) in (0, 1):
            found.extend(legacy.iterate_records(data))
        else:
            for pos, header in batch.iterate_batches(data):
                found.extend(batch.iterate_records(data, pos, header))
    except ProtocolError:
        pass
    return found
