"""What cannot be done is named."""

from __future__ import annotations

import pytest

from mockbroker.testing.not_supported import NotSupported, Refusal


def test_each_verb_of_a_view_that_is_not_there_says_its_name_and_why() -> None:
    view = Refusal("faults", "an Apache Kafka has none")
    with pytest.raises(NotSupported, match=r"^faults\.add: an Apache Kafka has none$") as refused:
        getattr(view, "add")  # noqa: B009 -- it raises
    assert (refused.value.name, refused.value.why) == ("faults.add", "an Apache Kafka has none")
    assert not hasattr(view, "__len__")
