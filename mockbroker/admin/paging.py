"""Pages of a list that is ordered by name: a cursor is the last name of the page before.

So a page is right also when names came or went in between.
"""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from bisect import bisect_right
from typing import TYPE_CHECKING

from mockbroker.admin.problems import ApiError

if TYPE_CHECKING:
    from collections.abc import Sequence


def page_of(
    names: Sequence[str], cursor: str | None, limit: int, prefix: str | None = None
) -> tuple[list[str], str | None]:
    """The names of one page, and the cursor of the next, None at the end.

    `names` are in order. Raises ApiError (422) for a cursor that is none of ours.
    """
    if prefix is not None:
        names = [name for name in names if name.startswith(prefix)]
    start = 0 if cursor is None else bisect_right(names, _decode(cursor))
    page = list(names[start : start + limit])
    more = start + limit < len(names)
    return page, _encode(page[-1]) if more else None


def _encode(name: str) -> str:
    return urlsafe_b64encode(name.encode()).decode().rstrip("=")


def _decode(cursor: str) -> str:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return b64decode(padded, altchars=b"-_", validate=True).decode()
    except ValueError:
        raise ApiError(422, "cursor: it is not one of this API's", "cursor") from None
