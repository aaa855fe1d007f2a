"""Fault rules over the admin API."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from mockbroker.admin.client import AdminApiError, AdminClient, segment
from mockbroker.faults import Fault, FaultError
from mockbroker.faults.presets import parse
from mockbroker.state.verdict import Unfired, Verdict
from mockbroker.testing.bridge import WaitTimeoutError
from mockbroker.testing.faults_view import FaultRule, FaultStatus, FaultsView, id_of
from mockbroker.testing.not_supported import NotSupported

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mockbroker.testing.bridge import Bridge, Caller
    from mockbroker.testing.faults_view import ArmedRule, Rule

__tracebackhide__ = True


class RemoteFaultRule(FaultRule):
    """One rule that was armed elsewhere."""

    __slots__ = ("_caller", "_last")

    def __init__(self, caller: Caller[AdminClient], data: Mapping[str, Any]) -> None:
        self._caller = caller
        self._last = data
        self.id = data["id"]

    def __repr__(self) -> str:
        return f"<FaultRule {self.id} {self._last['rule']}>"

    def status(self) -> FaultStatus:
        return self._caller.call(self._status)

    @property
    def hits(self) -> int:
        return self._caller.call(lambda client: self._status(client).hits)

    def wait(self, hits: int = 1, timeout: float = 10) -> FaultStatus:
        def wait(client: AdminClient) -> FaultStatus:
            body = {"hits": hits, "timeout_ms": int(timeout * 1000)}
            path = f"/v1/faults/{segment(self.id)}/wait"
            met = client.send("POST", path, body, wait_seconds=timeout)
            if not met["met"]:
                raise WaitTimeoutError(f"waited {timeout:g} s for {met['explanation']}")
            return self._status(client)

        return self._caller.call(wait)

    def release(self) -> int:
        return self._caller.call(lambda client: _release(client, self.id))

    def remove(self) -> FaultStatus:
        return self._caller.call(lambda client: _remove(client, self.id))

    def _status(self, client: AdminClient) -> FaultStatus:
        """As it is, or as it was last seen when it is not armed any more."""
        self._last = client.find(f"/v1/faults/{segment(self.id)}") or self._last
        return _status(self._last)


class RemoteFaultsView(FaultsView):
    """The armed rules of a broker elsewhere."""

    __slots__ = ("_caller",)

    def __init__(self, caller: Caller[AdminClient]) -> None:
        super().__init__(cast("Bridge", caller))
        self._caller = caller

    def __repr__(self) -> str:
        return "<FaultsView over HTTP>"

    def add(self, *rules: Rule | Iterable[Rule]) -> list[FaultRule]:
        plain = [one for rule in rules for one in _plain(rule)]

        def add(client: AdminClient) -> list[FaultRule]:
            try:
                armed = client.send("POST", "/v1/faults", {"rules": plain})["faults"]
            except AdminApiError as error:
                if error.status != 422:
                    raise
                raise _fault_error(error) from None
            return [RemoteFaultRule(self._caller, one) for one in armed]

        return self._caller.call(add)

    def remove(self, rule: ArmedRule) -> FaultStatus:
        return self._caller.call(lambda client: _remove(client, id_of(rule)))

    def clear(self) -> None:
        def clear(client: AdminClient) -> None:
            client.send("DELETE", "/v1/faults")

        return self._caller.call(clear)

    def list(self) -> Sequence[FaultStatus]:
        return self._caller.call(
            lambda client: [_status(one) for one in client.pages("/v1/faults", "faults")]
        )

    def release(self, rule: ArmedRule | None = None) -> int:
        def release(client: AdminClient) -> int:
            if rule is not None:
                return _release(client, id_of(rule))
            return sum(_release(client, one["id"]) for one in client.pages("/v1/faults", "faults"))

        return self._caller.call(release)

    @contextmanager
    def armed(self, *rules: Rule | Iterable[Rule]) -> Iterator[Sequence[FaultRule]]:
        with super().armed(*rules) as made:
            yield made

    def discard(self, rules: Iterable[ArmedRule]) -> None:
        ids = [id_of(rule) for rule in rules]

        def discard(client: AdminClient) -> None:
            client.send("POST", "/v1/verify", {"rules": ids})

        return self._caller.call(discard)

    def verify(self, rules: Iterable[ArmedRule]) -> None:
        ids = [id_of(rule) for rule in rules]
        return self._caller.call(
            lambda client: verdict_of(client.send("POST", "/v1/verify", {"rules": ids})).check()
        )


def verdict_of(data: Mapping[str, Any]) -> Verdict:
    """What `POST /v1/verify` answered."""
    return Verdict([Unfired(**one) for one in data["unfired"]], data["refused"])


def _plain(rule: Rule | Iterable[Rule]) -> Iterator[Mapping[str, object]]:
    """Rules as JSON has them."""
    if isinstance(rule, Fault):
        if callable(rule.when):
            why = "a function cannot be sent to another process: write `when` as an expression"
            raise NotSupported("faults.add", why)
        yield rule.to_dict()
    elif hasattr(rule, "keys"):
        yield cast("Mapping[str, object]", rule)
    else:
        for one in rule:
            yield from _plain(one)


def _fault_error(error: AdminApiError) -> FaultError:
    field, _, rest = str(error).partition(": ")
    problem, _, allowed = rest.partition("; allowed: ")
    return FaultError(error.field or field, problem, allowed)


def _status(data: Mapping[str, Any]) -> FaultStatus:
    (fault,) = parse(data["rule"])
    return FaultStatus(
        data["id"], fault, data["hits"], data["matched"], data["waiting"], data["exhausted"]
    )


def _found(client: AdminClient, fault_id: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] | None = client.find(f"/v1/faults/{segment(fault_id)}")
    if found is None:
        raise KeyError(fault_id)
    return found


def _remove(client: AdminClient, fault_id: str) -> FaultStatus:
    found = _found(client, fault_id)
    client.send("DELETE", f"/v1/faults/{segment(fault_id)}")
    return _status(found)


def _release(client: AdminClient, fault_id: str) -> int:
    _found(client, fault_id)
    released: int = client.send("POST", f"/v1/faults/{segment(fault_id)}/release")["released"]
    return released
