"""Tests that cannot run on the compiled build: they run on the sources alone.

A compiled class takes no subclass but a compiled one: a test that makes an object of one of its own
is skipped as it does. It takes no object but its own either, and what it holds is in no
`__slots__`: tests that need that are named here. A constant, a function or a method is in the
machine code of its module: a test that replaces one by `monkeypatch` is skipped as it does.
"""

from __future__ import annotations

import sys
import traceback
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

PURE_ONLY: Final[dict[str, tuple[str, ...]]] = {
    # Reads the sources that are compiled.
    "tests/mockbroker/pipeline/analyze/test_line_schema.py": (
        "test_what_the_broker_measures_may_have_a_fraction",
    ),
    # Have something that stands for the context of a request.
    "tests/mockbroker/node/test_slices.py": (
        "test_each_piece_has_its_turn",
        "test_what_waits_goes_on_when_it_is_resumed",
        "test_what_was_dropped_is_not_resumed",
    ),
    # Replace a constant, or a class, by `unittest.mock`.
    "tests/mockbroker/log/test_validator.py": (
        "test_of_a_refused_batch_no_record_is_told_before_somebody_asks",
    ),
    "tests/mockbroker/fetch/test_long_contexts.py": (
        "test_what_a_session_is_told_of_is_taken_in_in_slices_too",
    ),
    # Count what the interpreter does: there is little of it.
    "tests/mockbroker/network/test_server.py": (
        "test_the_extension_costs_an_ordinary_client_one_look",
    ),
    "tests/property/test_costly_frames.py": ("test_more_work_than_it_may_take_is_seen",),
    "tests/simulation/test_coverages.py": (),
    # Runs a seed that lowers limits: they are in the machine code (simulation.limits).
    "tests/simulation/test_parked.py": ("test_a_fetch_in_slices_that_was_superseded_is_known",),
    # Put defects into the broker, to try those who are to notice.
    "tests/seeds/test_cluster_group_mutations.py": (),
    "tests/seeds/test_cluster_mutations.py": (),
    "tests/seeds/test_mutations.py": (),
    # What the rules of the core are, is of its source; seeds enough run on both.
    "tests/seeds/test_cluster_seeds.py": ("test_what_failed_once_holds",),
    # Counts slots.
    "tests/mockbroker/log/test_unified_log.py": ("test_an_empty_log_is_small",),
}
"""By file; without names it is the whole file."""
EXTENDED: Final = "interpreted classes cannot inherit from compiled"
TESTS: Final = Path(__file__).resolve().parents[1]


def _is_compiled(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module.startswith("mockbroker") and file.endswith(EXTENSION_SUFFIXES[0])


def _is_in_machine_code(target: object, name: str) -> bool:
    if isinstance(target, ModuleType):
        return _is_compiled(target.__name__)
    if isinstance(target, str):
        return _is_compiled(target.rpartition(".")[0])
    owner = target if isinstance(target, type) else type(target)
    return _is_compiled(owner.__module__) and callable(getattr(owner, name, None))


def extends_machine_code(error: BaseException) -> bool:
    """Whether a test failed as its own class extends a compiled one; the product's may not."""
    raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
    return str(error) == EXTENDED and TESTS in Path(raised_in).parents


def skip_what_replaces_machine_code() -> None:
    """From now on a test that replaces a part of a compiled module is skipped at that point."""
    replace = pytest.MonkeyPatch.setattr

    def replace_or_skip(
        patch: pytest.MonkeyPatch, target: Any, name: Any, *value: Any, **options: Any
    ) -> None:
        if _is_in_machine_code(target, name):
            pytest.skip(f"replaces {name} of {target}, which is compiled")
        replace(patch, target, name, *value, **options)

    pytest.MonkeyPatch.setattr = replace_or_skip  # type: ignore[method-assign, assignment]
