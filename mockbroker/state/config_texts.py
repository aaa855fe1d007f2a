"""Configs as a test or a file gives them, as the texts that Kafka parses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def config_texts(configs: Mapping[str, object]) -> dict[str, str]:
    """Each value as Kafka reads it: `True` is true, `["compact", "delete"]` is compact,delete."""
    return {str(name): _text(value) for name, value in configs.items()}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)
