"""A registry for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.fake_registry import FakeRegistry, fake_registry

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with fake_registry() as made:
        yield made
