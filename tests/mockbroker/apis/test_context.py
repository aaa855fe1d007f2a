"""The request's context answers once; the services keep what waits for the end of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import RequestContext
from mockbroker_protocol.headers import request_header
from tests.support.core import Core
from tests.support.senders import SENDER

if TYPE_CHECKING:
    from collections.abc import Callable


class Recorder:
    """A responder that keeps what it is told."""

    def __init__(self) -> None:
        self.answers: list[object] = []

    def complete(self, ctx: RequestContext, response: object) -> None:
        ctx.done = True
        self.answers.append(response)

    def complete_by(self, ctx: RequestContext, make: Callable[[], object]) -> None:
        self.complete(ctx, make())

    complete_in_slices = complete


def context(responder: Recorder) -> RequestContext:
    return RequestContext(responder, request_header(1, 12, 5, "app", 0), SENDER, 3.0, 9)


def test_a_request_is_answered_once() -> None:
    recorder = Recorder()
    ctx = context(recorder)
    ctx.respond("first")
    ctx.respond("second")
    assert recorder.answers == ["first"]


def test_a_request_that_was_given_up_is_not_answered() -> None:
    recorder = Recorder()
    ctx = context(recorder)
    ctx.done = True
    ctx.respond("late")
    assert recorder.answers == []


def test_deferred_actions_run_at_the_end_of_the_step_and_once() -> None:
    core = Core()
    services = core.broker.services
    ran: list[str] = []

    def second() -> None:
        ran.append("second")

    def first() -> None:
        ran.append("first")
        services.defer(second)

    services.defer(first)
    core.broker.tick(1.0)
    assert ran == ["first", "second"]
    core.broker.tick(2.0)
    assert ran == ["first", "second"]
    assert not services.has_deferred


def test_an_answer_is_not_made_for_a_request_that_was_answered() -> None:
    recorder = Recorder()
    ctx = context(recorder)
    ctx.respond_by(lambda: "first")
    ctx.respond_by(lambda: "second")
    assert recorder.answers == ["first"]
