"""The compiled build beside its sources: `scripts/test compiled` runs this in build/compiled."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from mockbroker.server.compiled import is_compiled
from tests.support.pure_only import EXTENDED, PURE_ONLY, extends_machine_code

ROOT = Path(__file__).resolve().parents[2]
HARMLESS_BASES = {"NamedTuple", "ProtocolError"}
"""Sources that compiled classes extend: they have no slots."""
WORDS_OF_C = {
    *("_alignof", "_asm", "_attribute", "_const", "_inline"),
    *("_restrict", "_signed", "_thread", "_typeof", "_volatile"),
}
"""The compiled field of an attribute has one more underscore before it, and these are keywords."""

compiled = pytest.mark.skipif(not is_compiled(), reason="nothing is compiled here")


def modules() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    return [str(path) for path in hook["modules"]]


@pytest.mark.parametrize("path", modules())
def test_each_module_is_what_the_build_says(path: str) -> None:
    assert (ROOT / path).is_file()
    name = path.removeprefix("protocol/").removesuffix(".py").replace("/", ".")
    file = import_module(name).__file__
    assert file is not None
    assert file.endswith(EXTENSION_SUFFIXES[0]) is is_compiled()


@pytest.mark.parametrize("path", modules())
def test_no_attribute_of_a_compiled_class_becomes_a_keyword_of_c(path: str) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not names & WORDS_OF_C


def test_what_extends_a_compiled_class_is_compiled() -> None:
    """And the other way round, but for what Python's own classes are, none of them an `ABC`.

    Compiled classes of one have one memory of what is an instance of which.
    """
    listed = set(modules())
    homes: dict[str, set[bool]] = {"ABC": {False}}
    extends: list[tuple[str, str, set[str]]] = []
    for folder in ("mockbroker", "protocol"):
        for path in (ROOT / folder).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, set()).add(name in listed)
                    bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
                    extends.append((name, node.name, bases - HARMLESS_BASES))
    wrong = [
        f"{name}: {child} extends {base}"
        for name, child, bases in extends
        for base in bases
        if (name in listed) not in homes.get(base, {name in listed})
    ]
    assert wrong == []


def simulated(*words: str, pure: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "simulation", *words],
        check=False,  # a violation is another test's business
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "MOCKBROKER_PURE": pure, "PYTHONHASHSEED": "0"},
    )
    return done.stdout


# Seeds that lower no limits: they are in the machine code (simulation.limits).
@compiled
@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        *(((), seed) for seed in (0, 1, 2, 3, 4, 6)),
        *((("--cluster",), seed) for seed in (1, 2, 4, 5, 6, 10)),
    ],
)
def test_a_simulation_is_byte_for_byte_that_of_the_sources(
    kind: tuple[str, ...], seed: int
) -> None:
    words = (*kind, "--seed", str(seed))
    trace = simulated(*words, pure="0")
    assert len(trace) > 1000
    assert trace == simulated(*words, pure="1")


@pytest.mark.parametrize("path", PURE_ONLY)
def test_what_runs_pure_only_is_there(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    assert [name for name in PURE_ONLY[path] if f"def {name}(" not in text] == []


def test_a_test_that_extends_what_is_compiled_is_left_out_and_no_defect_of_the_product() -> None:
    def error_of(file: str) -> BaseException:
        text = f"raise TypeError({EXTENDED!r})"
        with pytest.raises(TypeError) as info:
            exec(compile(text, file, "exec"))
        return info.value

    assert extends_machine_code(error_of(__file__))
    assert not extends_machine_code(error_of(str(ROOT / "mockbroker/node/broker.py")))
