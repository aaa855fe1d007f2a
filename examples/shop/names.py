"""What the three services call their topics and groups; `prefix` parts one shop from another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Names:
    """The names of one shop."""

    prefix: str = ""

    @property
    def orders(self) -> str:
        """Orders as customers place them, by customer."""
        return f"{self.prefix}orders"

    @property
    def payments(self) -> str:
        """What became of each order's payment."""
        return f"{self.prefix}payments"

    @property
    def shipments(self) -> str:
        """What was sent."""
        return f"{self.prefix}shipments"

    @property
    def rejected(self) -> str:
        """Records that nobody could read."""
        return f"{self.prefix}rejected"

    def group(self, service: str) -> str:
        """The group of a service's workers."""
        return f"{self.prefix}{service}"
