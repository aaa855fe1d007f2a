"""Runs a script against one broker and keeps what came back, as plain trees, step by step."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from mockbroker_protocol.schema import is_declared
from tests.differential.fit import fitted
from tests.differential.record_trees import records_tree
from tests.differential.steps import Awaited, Known, NotLearnedError, Step
from tests.differential.wire import ClosedError, Raw, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.differential.trees import Tree

UNTIL_DEADLINE_S = 15.0


class Outcome:
    """A step's request and answer; `answer` is a tree, or a string where there was none.

    `api` is the name of the API as normalise knows it: `Fetch` of a FetchResponse.
    """

    __slots__ = ("answer", "api", "request")

    def __init__(self, request: Tree, answer: Any) -> None:
        self.request = request
        self.answer = answer if isinstance(answer, str) else tree_of(answer)
        self.api = type(answer).__name__.removesuffix("Response")


class Runner:
    """One broker's side of a script; `connect` opens the connection of a name, as it wants."""

    def __init__(self, bootstrap: str, connect: Callable[[str, Known], Wire] | None = None) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self._address = (host, int(port))
        self._connect = connect or self._connected
        self._wires: dict[str, Wire] = {}
        self._known = Known()

    def run(self, script: Sequence[Step | Awaited]) -> list[Outcome]:
        try:
            return [self._outcome(step) for step in script]
        finally:
            for wire in self._wires.values():
                wire.close()

    def _outcome(self, step: Step | Awaited) -> Outcome:
        if isinstance(step, Awaited):
            return Outcome(step.name, self._answer(step, None))
        try:
            message = step.request(self._known)
            if not isinstance(message, Raw):
                message = fitted(message, step.version)
        except NotLearnedError as missing:
            return Outcome(step.title, f"not asked: no {missing} was learned")
        return Outcome(tree_of(message), self._answer(step, message))

    def _answer(self, step: Step | Awaited, message: object) -> Any:
        """Sends and receives; a connection that the broker closed is opened anew next time."""
        wire = self._wire(step.connection)
        try:
            if isinstance(step, Awaited):
                if not wire.is_awaiting:
                    return "not asked: its request was not sent"
                answer = wire.receive()
            elif not step.receive:
                wire.send(message, step.version)
                return "sent"
            else:
                answer = self._ask_until(step, wire, message)
        except ClosedError:
            self._wires.pop(step.connection).close()
            return "closed"
        except TimeoutError:
            self._wires.pop(step.connection).close()
            return "no answer in time"
        if step.learn is not None and answer is not None:
            step.learn(self._known, answer)
        return "no answer due" if answer is None else answer

    def _ask_until(self, step: Step, wire: Wire, message: object) -> Any:
        deadline = time.monotonic() + UNTIL_DEADLINE_S
        answer = wire.ask(message, step.version)
        while step.until is not None and not step.until(answer):
            if time.monotonic() > deadline:
                return answer
            answer = wire.ask(message, step.version)
        return answer if step.compared else "as awaited"

    def _wire(self, name: str) -> Wire:
        if name not in self._wires:
            self._wires[name] = self._connect(name, self._known)
        return self._wires[name]

    def _connected(self, name: str, _: Known) -> Wire:
        return Wire(*self._address, name if name.startswith("127.") else "")


def tree_of(value: Any) -> Tree:
    """A message as dicts, lists and plain values; record bytes are taken apart."""
    if is_declared(type(value)):
        tree = {
            name: records_tree(getattr(value, name)) if name == "records"
            else tree_of(getattr(value, name))
            for name in type(value).__slots__
            if name != "unknown_tags"
        }  # fmt: skip
        if value.unknown_tags:
            tree["unknown_tags"] = {
                str(tag): data.hex() for tag, data in value.unknown_tags.items()
            }
        return tree
    if isinstance(value, list):
        return [tree_of(item) for item in value]
    if isinstance(value, Raw):
        return f"API {value.API_KEY}, body {value.body.hex()}"
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    assert value is None or isinstance(value, bool | int | float | str)
    return value
