"""What the admin API refuses, as the exception that the same verb raises in this process."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from mockbroker.admin.client import AdminApiError

if TYPE_CHECKING:
    from collections.abc import Iterator

__tracebackhide__ = True

_REFUSED: Final = range(400, 500)
_UNAUTHORIZED: Final = (401, 403)


@contextmanager
def refused_as(kind: type[Exception]) -> Iterator[None]:
    """Raise `kind` for a refusal; who may not, or cannot reach it, is told so as it is."""
    try:
        yield
    except AdminApiError as error:
        if error.status in _REFUSED and error.status not in _UNAUTHORIZED:
            raise kind(str(error)) from None
        raise
