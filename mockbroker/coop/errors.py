"""The draft's errors on the wire.

The draft's numbers were free in 2019 and mean something else today: sent as they are, clients retry
for ever what is final. `coop.error.mode` says what an answer's ErrorCode is: `carrier` a standard
code that makes clients do what is right, `private` the draft's number plus 16000, `draft` the
number itself. The tagged field EXT_ERROR has the draft's number in each mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop.numbers import PRIVATE_ERRORS

if TYPE_CHECKING:
    from mockbroker.coop.numbers import DraftError
    from mockbroker_protocol.errors import ErrorCode


class Refusal(NamedTuple):
    """Why something is refused: `error` is standard, and carries the draft's error if any."""

    error: ErrorCode
    draft: DraftError | None = None

    def code(self, mode: str) -> int:
        """The ErrorCode that goes out, in a mode of `coop.error.mode`."""
        if self.draft is None:
            return self.error
        if mode == "carrier":
            return self.error
        return self.draft + PRIVATE_ERRORS if mode == "private" else int(self.draft)
