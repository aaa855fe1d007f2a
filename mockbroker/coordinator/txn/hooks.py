"""What an extension of the transaction protocol is told.

`TransactionCoordinatorService.hooks` holds one `TransactionHooks`; the one here does nothing.
"""

from __future__ import annotations


class TransactionHooks:
    """Override what is wanted."""

    def on_end(self, transactional_id: str, producer_id: int, committed: bool) -> None:
        """A transaction ended: every partition has its marker, and the log says so."""
