"""An intruder: several connections at once that try to get in, and what must hold at each step.

He knows `bob`, who may read one topic; of all others he knows names, and passwords that he may use
on a connection on which he is bob already. Each step he opens or drops a connection, lets time
pass, or sends frames on one of them, whole, cut or several at once. What he is sent, byte for byte,
and what the journal tells of it are checked as they come.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from mockbroker.journal import HandlerFailed, Login, RequestServed
from mockbroker.node.illegal_sasl_state import illegal_sasl_state
from mockbroker_protocol.api_keys import ALL_SPECS, ApiKey
from mockbroker_protocol.headers import decode_response_header, encode_request_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)
from mockbroker_protocol.messages.group_admin import ListGroupsRequest
from mockbroker_protocol.messages.group_offsets import OffsetFetchRequest, OffsetFetchRequestGroup
from mockbroker_protocol.messages.metadata import MetadataRequest
from mockbroker_protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
)
from mockbroker_protocol.messages.scram import DescribeUserScramCredentialsRequest
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)
from mockbroker_protocol.plan import decode, encode
from simulation.scram_client import HASHES, ScramClient
from tests.support.core import EPOCH_MS, CoreClient
from tests.support.core_state import differences
from tests.support.hostile import long_names, mutate
from tests.support.intruder_world import BOB, MECHANISMS, PASSWORDS, SESSION_MS, VEILED, World
from tests.support.logins import DELAY_MS, LISTENER, bearer, bearer_token
from tests.support.requests import fetch, framed, produce

if TYPE_CHECKING:
    from random import Random

    from mockbroker.journal import Event

ANONYMOUS: Final = "User:ANONYMOUS"
OPEN: Final = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
BARE_ANSWERS: Final = (b"r=", b"v=", b"{")
"""How an answer to a bare token begins, if it is not empty: no number of a request does."""
MOST_CONNECTIONS: Final = 4
NAMES: Final = (b"orders", b"his-group", b"alice")
WRONG: Final = (
    b"",
    b"\x01",
    b"alice",
    b"\0alice\0wrong",
    b"\0alice\0bob-secret",
    b"alice\0bob\0alice-secret",
    b"alice\0bob\0bob-secret",
    b"\0nobody\0alice-secret",
    b"\0alice\0",
    b"\0\0",
    b"\0alice\0alice-secret\0",
    b"\0\xff\0\xff",
    bearer("abc.def."),
    bearer(bearer_token("alice", None, 1.0)),
    bearer(bearer_token("bob", None, 1.0)),
    bearer(bearer_token("alice", 8e9, 9e9)),
    bearer(bearer_token("bob", None, 9e9), "a=alice"),
    b"c=biws,r=fyko,p=AAAA",
    b"n,,n=,r=abc",
    b"n,a=alice,n=bob,r=abc",
)


def signed_token(user: str, expires: float, now_ms: float) -> str:
    """A right one, for a broker that wants it signed."""
    from tests.support.signed_tokens import claims, signed

    return signed(claims(int(now_ms) // 1000, sub=user, exp=int(expires)))


@cache
def wrong_tokens() -> tuple[bytes, ...]:
    """Of alice, signed by nobody, by a stranger, for somebody else, too late, or not as it says."""
    from tests.support.signed_tokens import claims, ec_key, in_base64, jwk, rsa_key, signed

    now = EPOCH_MS // 1000
    alices = claims(now, exp=8_000_000_000)
    good = signed(claims(now, sub="bob", exp=8_000_000_000))
    head, body, end = good.split(".")
    stolen = in_base64(json.dumps(alices).encode())
    found = (
        signed(alices, key=rsa_key("three"), algorithm="RS256"),
        signed(alices, key=json.dumps(jwk(ec_key("P-256"))).encode(), algorithm="HS256"),
        signed(alices, header={"alg": "none"}),
        signed(alices, header={"alg": "RS256"}),
        signed(alices, key_id="two"),
        signed({**alices, "aud": "shop"}),
        signed({**alices, "iss": "https://other.test"}),
        signed({**alices, "exp": now - 1000, "iat": now - 2000}),
        signed({**alices, "sub": ""}),
        f"{head}.{stolen}.{end}",
        f"{head}.{body}.",
        f"{in_base64(b'{}')}.{stolen}.{end}",
        bearer_token("alice", None, 8e9),
    )
    return (*map(bearer, found), bearer(signed({**alices, "sub": "admin"}), "a=alice"))


class Stranger(CoreClient):
    """One of his connections. `may_enter`: he will log in as bob there, sooner or later."""

    def __init__(self, intruder: Intruder, *, may_enter: bool) -> None:
        core = intruder.world.core
        super().__init__(core, core.next_id, "intruder", LISTENER)
        self._intruder = intruder
        self.may_enter = may_enter
        self.is_entitled = False
        """Whether a right token of bob's was sent."""
        self.sent: dict[int, tuple[int, int, float]] = {}
        """Key, version and time of each request that has no answer, by its number."""
        self.bare = False
        self.scram: ScramClient | None = None
        self.heard = b""
        """The last token of the broker."""
        self.failed_ms: float | None = None
        self.served_after_failure = 0
        self.session_ms: float | None = None
        """When the session ends at the latest."""
        self.mechanism: str | None = None
        self.token_ms = float("inf")
        self.answers = 0
        self._rest = b""

    @property
    def principal(self) -> str | None:
        """Who the broker takes it for; None once it is gone."""
        for conn in self.core.broker.connections():
            if conn.id == self.connection_id:
                return conn.principal
        return None

    def take(self, data: bytes, *, closed: bool) -> None:
        """What the broker sends: whole frames, each checked."""
        assert VEILED not in data, f"a secret leaves: {data!r}"
        self._rest += data
        while len(self._rest) >= 4:
            size = int.from_bytes(self._rest[:4], "big")
            if len(self._rest) < 4 + size:
                break
            answer, self._rest = self._rest[4 : 4 + size], self._rest[4 + size :]
            self._check(answer)
        self.closed = self.closed or closed

    def _check(self, answer: bytes) -> None:
        self.answers += 1
        if not answer or answer.startswith(BARE_ANSWERS):
            assert self.bare, f"a bare token, though none was sent: {answer!r}"
            self.heard = answer
            return
        number = int.from_bytes(answer[:4], "big")
        key, version, sent_ms = self.sent.pop(number)
        if key == ApiKey.SASL_AUTHENTICATE:
            _, pos = decode_response_header(answer, key, version)
            told, _ = decode(SaslAuthenticateResponse, version, answer, pos)
            self.heard = told.auth_bytes
        if key in OPEN or (self.connection_id, number) in self._intruder.refused:
            return
        assert self.may_enter, f"{ApiKey(key).name} is answered to a stranger"
        assert self.principal in (BOB, None), f"{ApiKey(key).name} is answered to {self.principal}"
        assert self.session_ms is not None
        assert sent_ms <= self.session_ms, f"{ApiKey(key).name} is answered behind the session"

    def check(self, now_ms: float) -> None:
        """What holds between any two steps."""
        principal = self.principal
        assert principal in (ANONYMOUS, BOB, None), f"he is {principal}"
        if principal == BOB:
            assert self.is_entitled, "he is bob, and has not proved that"
        if self.failed_ms is not None and now_ms > self.failed_ms + DELAY_MS:
            assert self.closed, "a connection outlives its failed login"


class Intruder:
    """All of his connections, step by step; `dice` decides."""

    def __init__(self, dice: Random, *, knows_bob: bool = True) -> None:
        self._dice = dice
        self._knows_bob = knows_bob
        signs = find_spec("cryptography") is not None and dice.random() < 0.5
        self.world = World(is_guarded=knows_bob, is_signed=signs)
        self._wrong = (*WRONG, *wrong_tokens()) if signs else WRONG
        self.core = self.world.core
        self._before = self.world.kept()
        self._strangers: dict[int, Stranger] = {}
        self._number = 0
        self.refused: set[tuple[int, int]] = set()
        """Requests that are answered with error 34 and nothing else."""
        self.visits = self.steps = self.entered = self.failed = self.answers = 0
        self.keys_sent: set[int] = set()
        self._requests = [
            request
            for name in NAMES
            for number in (0, 1, -1)
            for request in long_names(name, number)
        ]
        self.core.cluster.journal.listen(self._heard, requests=True)

    # -- what the journal tells ----------------------------------------------------------------

    def _heard(self, event: Event) -> None:
        if isinstance(event, HandlerFailed):
            raise event.error
        if isinstance(event, Login):
            self._heard_login(event)
        elif isinstance(event, RequestServed) and event.connection_id in self._strangers:
            assert event.principal in (ANONYMOUS, BOB)
            one = self._strangers[event.connection_id]
            if one.failed_ms is not None:
                one.served_after_failure += 1
                assert one.served_after_failure == 1, "served behind a login that failed"
            if event.api_key in OPEN or event.chunks is None:
                return
            request, version = event.request, event.api_version
            assert request is not None
            refusal = illegal_sasl_state(event.api_key, version, request)
            told = b"".join(bytes(chunk) for chunk in event.chunks)
            body = b"".join(encode(refusal, version))
            if not told.endswith(body):
                assert event.principal == BOB, f"{event.api_name} is served: {event.response}"
                return
            self.refused.add((event.connection_id, event.correlation_id))

    def _heard_login(self, event: Login) -> None:
        one = self._strangers.get(event.connection_id)
        if one is None:
            return
        now_ms = self.core.now_ms
        if event.reason is not None:
            self.failed += 1
            one.failed_ms = now_ms
            return
        self.entered += 1
        assert one.is_entitled, f"he got in by {event.mechanism}"
        by_token = event.mechanism == "OAUTHBEARER"
        one.session_ms = min(now_ms + SESSION_MS, one.token_ms if by_token else float("inf"))
        assert one.mechanism in (None, event.mechanism), "another mechanism within a session"
        one.mechanism = event.mechanism

    # -- steps -----------------------------------------------------------------------------------

    def step(self) -> None:
        """He does one thing more."""
        dice = self._dice
        self.steps += 1
        if len(self._strangers) < MOST_CONNECTIONS and dice.random() < 0.5:
            self._arrive()
        elif self._strangers and dice.random() < 0.02:
            self._leave(dice.choice(list(self._strangers.values())))
        if self._strangers:
            one = dice.choice(list(self._strangers.values()))
            self._send(one, self._next(one))
        if dice.random() < 0.4:
            self.core.advance(dice.choice((1, 1, DELAY_MS, DELAY_MS + 1, 900, 3000)))
        for one in list(self._strangers.values()):
            one.check(self.core.now_ms)
            if one.closed:
                self._leave(one)

    def check(self) -> None:
        """Nothing has changed."""
        self.core.advance(DELAY_MS + 1)
        assert list(differences(self._before, self.world.kept())) == []

    def _arrive(self) -> None:
        one = Stranger(self, may_enter=self._knows_bob and self._dice.random() < 0.5)
        self.core.connect(one)
        self._strangers[one.connection_id] = one
        self.visits += 1

    def _leave(self, one: Stranger) -> None:
        self.answers += one.answers
        one.disconnect()
        del self._strangers[one.connection_id]

    def _send(self, one: Stranger, frames: list[bytes]) -> None:
        """On their way: one by one, all at once, or cut anywhere."""
        dice = self._dice
        parts = [b"".join(frames)] if dice.random() < 0.3 else frames
        for data in parts:
            cut = dice.randrange(len(data) + 1) if dice.random() < 0.15 else 0
            for part in (data[:cut], data[cut:]):
                if part and not one.closed:
                    one.send_bytes(part)
            if cut and dice.random() < 0.1:  # another one comes in between
                other = dice.choice(list(self._strangers.values()))
                if other is not one and not other.closed:
                    other.send_bytes(self._any_request(other))

    # -- frames ----------------------------------------------------------------------------------

    def _request(self, one: Stranger, message: object, version: int) -> bytes:
        key: int = message.API_KEY  # type: ignore[attr-defined]
        number = self._take_number(one, key, version)
        header = encode_request_header(key, version, number, "intruder")
        return framed(header + b"".join(encode(message, version)))

    def _take_number(self, one: Stranger, key: int, version: int) -> int:
        self._number += 1
        assert self._number < 1 << 24
        one.sent[self._number] = key, version, self.core.now_ms
        self.keys_sent.add(key)
        return self._number

    def _handshake(self, one: Stranger, mechanism: str) -> bytes:
        version = self._dice.choice((0, 1, 1))
        one.bare = one.bare or version == 0
        return self._request(one, SaslHandshakeRequest(mechanism), version)

    def _token(self, one: Stranger, data: bytes) -> bytes:
        """In a request, or bare where that may be right, and sometimes where it is not."""
        if one.bare and self._dice.random() < 0.8:
            return framed(data)
        return self._request(one, SaslAuthenticateRequest(data), self._dice.choice((0, 1, 2)))

    def _next(self, one: Stranger) -> list[bytes]:
        """What he sends next on one of his connections."""
        dice = self._dice
        kind = dice.random()
        failing = 0.5 if one.may_enter else 0.7
        if one.scram is not None and one.heard.startswith(b"r=") and kind < 0.8:
            return [self._token(one, self._proof(one))]
        if one.principal == BOB:
            if kind < 0.2:
                return self._change_who_he_is(one)
            if kind < 0.3:
                return self._login(one, "bob")
        elif one.may_enter and kind < 0.35:
            return self._login(one, "bob")
        if kind < failing:
            return self._failing_login(one)
        if kind < failing + 0.05:
            version = dice.choice((0, 3, 4))
            return [self._request(one, ApiVersionsRequest("probe", "1"), version)]
        if kind < failing + 0.08:
            return [framed(dice.randbytes(dice.randint(1, 60)))]
        return [self._any_request(one) for _ in range(dice.choice((1, 1, 3)))]

    def _any_request(self, one: Stranger) -> bytes:
        """Of any API and version: for what he is after, filled with names, or mangled."""
        dice = self._dice
        kind = dice.random()
        if kind < 0.4:
            return self._request(one, *self._sharp())
        if kind < 0.9:
            data = dice.choice(self._requests)
            if dice.random() < 0.2:
                data = data[:8] + mutate(data[8:], [(dice.randrange(60), dice.randrange(256))], 0)
            key, version = int.from_bytes(data[:2], "big"), int.from_bytes(data[2:4], "big")
            number = self._take_number(one, key, version)
            return framed(data[:4] + number.to_bytes(4, "big") + data[8:])
        spec = ALL_SPECS[dice.choice(list(ALL_SPECS))]
        version = dice.randint(max(spec.min_version - 1, 0), spec.max_version + 1)
        number = self._take_number(one, spec.key, min(version, spec.max_version))
        header = encode_request_header(spec.key, min(version, spec.max_version), number, "intruder")
        return framed(header[:2] + version.to_bytes(2, "big") + header[4:])

    def _sharp(self) -> tuple[object, int]:
        """A request that would have what he wants."""
        by_id = FetchRequestTopic(
            topic_id=self.world.topic_id, partitions=[FetchRequestPartition(0, 0, 0)]
        )
        by_id.partitions[0].partition_max_bytes = 1 << 20
        wanted: list[tuple[object, int]] = [
            (fetch("orders", max_wait_ms=0), 12),
            (fetch("bobs", max_wait_ms=0), 12),
            (fetch("bobs", max_wait_ms=2000), 12),
            (FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=0, topics=[by_id]), 13),
            (FetchRequest(replica_id=2, max_wait_ms=0, min_bytes=0, topics=[by_id]), 13),
            (produce("orders"), 9),
            (produce("bobs"), 9),
            (produce("orders", acks=0), 9),
            (MetadataRequest(None), 9),
            (ListGroupsRequest(), 4),
            (OffsetFetchRequest(groups=[OffsetFetchRequestGroup("his-group", None, -1, None)]), 8),
            (CreateTopicsRequest([CreatableTopic("his", 1, 1)], 1000), 7),
            (DeleteTopicsRequest([], ["orders", "bobs"], 1000), 5),
            (DescribeUserScramCredentialsRequest(None), 0),
        ]
        return self._dice.choice(wanted)

    # -- logins ----------------------------------------------------------------------------------

    def _failing_login(self, one: Stranger) -> list[bytes]:
        """A handshake, tokens, or both: none that is right for anybody."""
        dice = self._dice
        mechanism = dice.choice((*MECHANISMS, *MECHANISMS, "GSSAPI", ""))
        begun = [self._handshake(one, mechanism)] if dice.random() < 0.7 else []
        if dice.random() < 0.4:
            return begun
        if mechanism in HASHES and dice.random() < 0.8:
            return [*begun, self._token(one, self._begin_scram(one, mechanism))]
        return [*begun, self._token(one, dice.choice(self._wrong))]

    def _begin_scram(self, one: Stranger, mechanism: str) -> bytes:
        """As one whose password he has not."""
        dice = self._dice
        one.heard = b""
        kind = dice.random()
        if kind < 0.1:  # his own password, and another's name
            one.scram = ScramClient(mechanism, "bob", PASSWORDS["bob"])
            return one.scram.first("a=alice")
        if kind < 0.2:
            one.scram = ScramClient(mechanism, *self.world.expired_token)
            return one.scram.first("", ",tokenauth=true")
        user = dice.choice(("alice", "admin", "nobody", self.world.alices_token[0]))
        by_token = ",tokenauth=true" if dice.random() < 0.3 else ""
        one.scram = ScramClient(mechanism, user, "wrong")
        return one.scram.first(dice.choice(("", "", f"a={user}", "a=bob")), by_token)

    def _proof(self, one: Stranger) -> bytes:
        """The last message of an exchange of SCRAM that was begun, right as its password is."""
        dice, scram = self._dice, one.scram
        assert scram is not None
        last = scram.last(one.heard)
        one.scram = None
        if not one.is_entitled and dice.random() < 0.4:
            head, _, proof = last.rpartition(b"p=")
            last = dice.choice((head + b"p=", head + b"p=AAAA", head[:-3] + b",p=" + proof, head))
        return last

    def _login(self, one: Stranger, user: str) -> list[bytes]:
        """A right one: of bob, or, where he is bob, of another."""
        assert user == "bob" or one.principal == BOB
        mechanism = one.mechanism or self._dice.choice(MECHANISMS)
        if self._dice.random() < 0.2:
            mechanism = self._dice.choice(MECHANISMS)
        if user == "bob":
            one.is_entitled = True
        return [
            self._handshake(one, mechanism),
            self._token(one, self._right(one, mechanism, user)),
        ]

    def _right(self, one: Stranger, mechanism: str, user: str) -> bytes:
        if mechanism == "PLAIN":
            return f"\0{user}\0{PASSWORDS[user]}".encode()
        if mechanism == "OAUTHBEARER":
            expires_ms = self.core.now_ms + self._dice.choice((2000, 60_000))
            if user == "bob":
                one.token_ms = max(expires_ms, one.token_ms) if one.token_ms < 1e15 else expires_ms
            expires = (EPOCH_MS + expires_ms) / 1000
            if self.world.is_signed:
                return bearer(signed_token(user, expires, EPOCH_MS + self.core.now_ms))
            return bearer(bearer_token(user, None, expires))
        name, password, by_token = user, PASSWORDS[user], ""
        if self._dice.random() < 0.3:
            tokens = {"bob": self.world.bobs_token, "alice": self.world.alices_token}
            (name, password), by_token = tokens[user], ",tokenauth=true"
        one.scram, one.heard = ScramClient(mechanism, name, password), b""
        return one.scram.first("", by_token)

    def _change_who_he_is(self, one: Stranger) -> list[bytes]:
        """To log in anew as alice, whose passwords he has here, or in the midst of that."""
        frames = self._login(one, "alice")
        cut = self._dice.choice((1, 2, 2, 2))
        return [*frames[:cut], *([self._any_request(one)] if self._dice.random() < 0.4 else [])]
