"""Which build of the core runs."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from pathlib import Path

import pytest

from mockbroker import clock
from mockbroker.server import compiled
from tests.support.sources import PYTHONPATH

ROOT = Path(__file__).resolve().parents[3]


def test_a_build_is_what_its_modules_were_loaded_from(monkeypatch: pytest.MonkeyPatch) -> None:
    assert clock.__file__ is not None
    assert compiled.is_compiled() is not clock.__file__.endswith(".py")
    spec = ModuleSpec("mockbroker.clock", None)
    monkeypatch.setattr(compiled, "find_spec", lambda _: spec)
    assert compiled.is_compiled()


@pytest.mark.parametrize("value", ["1", ""])
@pytest.mark.parametrize("package", ["mockbroker", "mockbroker_protocol"])
def test_sources_are_taken_where_both_are_there(tmp_path: Path, package: str, value: str) -> None:
    """A library that cannot be loaded stands in for the compiled module: who takes it fails."""
    there = tmp_path / package
    there.mkdir()
    (there / "one.py").touch()
    (there / f"one{EXTENSION_SUFFIXES[0]}").touch()
    program = (
        f"import mockbroker, {package}; {package}.__path__.insert(0, {str(there)!r})\n"
        f"import {package}.one; print({package}.one.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": PYTHONPATH, "MOCKBROKER_PURE": value},
    )
    if value:
        assert done.stdout.strip() == str(there / "one.py"), done.stderr
    else:
        assert "ImportError" in done.stderr


def test_other_packages_are_nobodys_business() -> None:
    assert compiled.SourceFinder.find_spec("json.decoder", ["anywhere"]) is None
    assert compiled.SourceFinder.find_spec("mockbroker") is None
    assert compiled.SourceFinder.find_spec("mockbroker.nothing", []) is None
