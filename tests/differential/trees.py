"""Answers as plain trees, and the comparison of two of them, leaf by leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Lists and dicts of these, down to the leaves.
Tree = object


def differences(kafka: Tree, ours: Tree, path: str = "") -> Iterator[str]:
    """One line for each leaf that differs: where, what Kafka says, what ours says."""
    if isinstance(kafka, dict) and isinstance(ours, dict):
        for name in [*kafka, *(name for name in ours if name not in kafka)]:
            below = f"{path}.{name}" if path else str(name)
            if name not in ours:
                yield f"{below}: only in Kafka's: {brief(kafka[name])}"
            elif name not in kafka:
                yield f"{below}: only in ours: {brief(ours[name])}"
            else:
                yield from differences(kafka[name], ours[name], below)
    elif isinstance(kafka, list) and isinstance(ours, list):
        for index in range(max(len(kafka), len(ours))):
            below = f"{path}[{index}]"
            if index >= len(ours):
                yield f"{below}: only in Kafka's: {brief(kafka[index])}"
            elif index >= len(kafka):
                yield f"{below}: only in ours: {brief(ours[index])}"
            else:
                yield from differences(kafka[index], ours[index], below)
    elif type(kafka) is not type(ours) or kafka != ours:
        yield f"{path or 'the answer'}: Kafka {brief(kafka)}, ours {brief(ours)}"


def brief(tree: Tree, limit: int = 300) -> str:
    text = repr(tree)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
