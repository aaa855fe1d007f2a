"""What should fail a test though nothing raised: rules that never fired, refused requests.

The Python views, the pytest plugin and `POST /v1/verify` ask for it when a test ends; whatever it
tells it tells once. `nearest` says, for one rule, which requests came and what did not fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.faults.fault import CONNECTIONS, HANDSHAKES, LOGINS
from mockbroker.faults.request_view import RequestView
from mockbroker.journal.events import HandlerFailed
from mockbroker.state.request_lines import summary
from mockbroker.state.requests import NEAREST_SHOWN
from mockbroker_protocol.subjects import subjects_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.faults.armed_fault import ArmedFault
    from mockbroker.journal.events import RequestRefused
    from mockbroker.journal.request import RequestServed
    from mockbroker.journal.ring import Journal

_REFUSED_SHOWN: Final = 20
_HAPPENS: Final = {
    CONNECTIONS: "nothing was sent",
    HANDSHAKES: "no TLS handshake that fits began",
    LOGINS: "no login that fits would have succeeded",
}
"""What did not happen, by what a rule is about."""


class VerificationError(AssertionError):
    """A rule never fired, or a strict broker refused a request; `verdict` has both."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(str(verdict))
        self.verdict = verdict


class Unfired(NamedTuple):
    """A rule that never fired: what it says, why not, and the nearest requests, a line each."""

    id: str
    rule: dict[str, object]
    reason: str
    nearest: list[str]

    def __str__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.rule.items())
        first = f"fault {self.id} ({fields}) never fired: {self.reason}"
        return "\n  ".join(
            [first, *(["the nearest requests:"] if self.nearest else []), *self.nearest]
        )


class Verdict(NamedTuple):
    """What is wrong: rules that never fired, and refused requests as lines for people."""

    unfired: list[Unfired]
    refused: list[str]

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.unfired or self.refused)

    def check(self) -> None:
        """Raise VerificationError when something is wrong."""
        if not self.is_clean:
            raise VerificationError(self)

    def __str__(self) -> str:
        parts = [str(one) for one in self.unfired]
        if self.refused:
            parts.append("\n  ".join(["refused requests:", *self.refused]))
        return "\n".join(parts) or "nothing is wrong"


def verdict(cluster: Cluster, *, since: int, strict: bool, spared: Collection[str] = ()) -> Verdict:
    """What is wrong, and was not told before; nearest requests are looked for from a cursor on.

    Requests that were refused count when it is `strict`. Rules of the ids `spared` have time left.
    """
    refused = cluster.journal.take_refusals()
    silent = cluster.faults.take_silent(spared=spared) if cluster.has_faults else ()
    lines = [_refusal(one) for one in refused] if strict else []
    left_out = len(lines) - _REFUSED_SHOWN
    more = [f"and {left_out} more"] if left_out > 0 else []
    return Verdict(
        [_unfired(cluster, one, since) for one in silent], [*lines[:_REFUSED_SHOWN], *more]
    )


def merged(verdicts: Iterable[Verdict]) -> Verdict:
    """What several brokers say, as one."""
    found = list(verdicts)
    return Verdict(
        [one for each in found for one in each.unfired],
        [line for each in found for line in each.refused],
    )


def take_away(cluster: Cluster, ids: Iterable[str]) -> Verdict:
    """Disarm rules, as far as they are armed; which of them never fired."""
    faults = cluster.faults
    wanted = set(ids)
    silent = faults.take_silent(wanted)
    for armed in faults.list():
        if armed.id in wanted:
            faults.remove(armed.id)
    return verdict_of(cluster, silent)


def verdict_of(cluster: Cluster, silent: Iterable[ArmedFault]) -> Verdict:
    """The same of these rules alone, which never fired."""
    return Verdict([_unfired(cluster, one, 0) for one in silent], [])


def _refusal(event: RequestRefused | HandlerFailed) -> str:
    version = "" if event.api_version is None else f" v{event.api_version}"
    why = repr(event.error) if isinstance(event, HandlerFailed) else event.reason
    return f"{event.client_id}#{event.connection_id} {event.api_name}{version}: {why}"


def _unfired(cluster: Cluster, armed: ArmedFault, since: int) -> Unfired:
    happened = _HAPPENS.get(armed.fault.about)
    if happened is not None:
        reason = f"{happened} while it was armed"
        if armed.matched:
            reason = _reason(armed, 0)
        return Unfired(armed.id, armed.fault.to_dict(), reason, [])
    reason, lines = nearest(cluster.journal, armed, since)
    return Unfired(armed.id, armed.fault.to_dict(), reason, lines)


def nearest(journal: Journal, armed: ArmedFault, since: int) -> tuple[str, list[str]]:
    """Why a rule did not fire (again), and the nearest requests with what does not fit."""
    ranked: list[tuple[list[str], RequestServed]] = []
    requests = list(journal.requests(since))
    first = journal.cursor() - len(requests)
    for index in reversed(range(len(requests))):
        served = requests[index]
        was_asked = first + index >= armed.cursor and served.arrived_ms >= armed.armed_ms
        reasons = _mismatches(journal, armed, served, was_asked=was_asked)
        if reasons:
            ranked.append((reasons, served))
    ranked.sort(key=lambda pair: len(pair[0]))
    lines = [
        f"{summary(served, journal)}: {', '.join(reasons)}"
        for reasons, served in ranked[:NEAREST_SHOWN]
    ]
    return _reason(armed, len(requests)), lines


def _reason(armed: ArmedFault, seen: int) -> str:
    """Why not, by what it counted."""
    fault = armed.fault
    if armed.idle:
        return f"{armed.idle} request(s) fitted, without anything in the answer to act on"
    if armed.matched > armed.hits:
        chance = f"nth={fault.nth}" if fault.nth is not None else f"probability={fault.probability}"
        return f"{armed.matched} request(s) fitted, but with {chance} it fired {armed.hits} time(s)"
    return f"none of {seen} request(s) fitted" if not armed.hits else f"{armed.hits} hit(s)"


def _mismatches(
    journal: Journal, armed: ArmedFault, served: RequestServed, *, was_asked: bool
) -> list[str]:
    """What of a request does not fit; [] when it set the rule off."""
    if served.fault is not None and armed.id in served.fault.split(","):
        return []
    body = served.request
    if body is None:
        return ["its bytes were let go"]
    view = RequestView(served, body, lambda: subjects_of(body), journal.topic_name)
    in_time = armed.in_time(served.arrived_ms)
    reasons = armed.mismatches(served, view, was_asked=was_asked and in_time)
    if not was_asked:
        reasons.append("it came before the rule was armed")
    elif not in_time:
        end = "on" if armed.ends_ms is None else f"to {armed.ends_ms:.0f}"
        reasons.append(f"the rule was in force from {armed.starts_ms:.0f} {end} ms")
    return reasons or ["it fits"]
