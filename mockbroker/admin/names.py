"""Names in paths: a group may be `team/billing`, in an address `team%2Fbilling`.

Servers hand a path over decoded, where that name is two segments. Here it stays one: its slash is
half of a surrogate pair, which no decoded text has, until a route takes the name by `{…:name}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from starlette.convertors import Convertor, register_url_convertor

if TYPE_CHECKING:
    from starlette.types import Scope

_SLASH: Final = "\udc2f"


class _Name(Convertor[str]):
    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return value.replace(_SLASH, "/")

    def to_string(self, value: str) -> str:
        return value.replace("/", _SLASH)


register_url_convertor("name", _Name())


def with_whole_names(scope: Scope) -> Scope:
    """The request with a path in which a slash of a name parts nothing."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%2f" not in raw.lower() or not raw.startswith(b"/v1/"):
        return scope
    parts = (unquote(part).replace("/", _SLASH) for part in raw.decode("ascii").split("/"))
    return {**scope, "path": "/".join(parts)}
