"""Options as values; a bad one is told by its name."""

from __future__ import annotations

import argparse

import pytest

from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.options import names, pairs, positive, positive_number


def test_names_and_pairs() -> None:
    assert names("a, b") == ("a", "b")
    assert pairs("--kafka", ["a=b=c", "d="]) == [("a", "b=c"), ("d", "")]
    with pytest.raises(argparse.ArgumentTypeError, match="empty name"):
        names("a,,b")
    for text in ("a", "=b"):
        with pytest.raises(PipelineError, match=r"--kafka: .* is not KEY=VALUE"):
            pairs("--kafka", [text])


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", ""])
def test_what_is_no_count(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        positive(text)


@pytest.mark.parametrize("text", ["0", "-1", "x", "nan", "inf"])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        positive_number(text)
    assert (positive("12"), positive_number("0.5")) == (12, 0.5)
