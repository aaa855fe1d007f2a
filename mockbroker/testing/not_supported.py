"""What cannot be done where a broker runs, said by name: `Kafka.connect(…).faults.add(…)`."""

from __future__ import annotations

__tracebackhide__ = True


class NotSupported(Exception):  # noqa: N818 -- it is read as a word: NotSupported: faults.add
    """A verb that there is, but not of this broker; the message names it and says why."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name
        self.why = why


class Refusal:
    """In a view's place: each of its verbs raises NotSupported under its own name."""

    def __init__(self, name: str, why: str) -> None:
        self._name = name
        self._why = why

    def __getattr__(self, verb: str) -> object:
        if verb.startswith("__"):
            raise AttributeError(verb)
        raise NotSupported(f"{self._name}.{verb}", self._why)
