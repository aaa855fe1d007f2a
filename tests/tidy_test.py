"""The house rules that no linter knows: sizes, mirrors, docstrings, no sleep, nothing left over.

Each test collects every offence, so that one run names them all.
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import grimp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parent.parent
# The packages, and where the tests of each stand.
PACKAGES = {
    "mockbroker": "tests/mockbroker",
    "protocol/mockbroker_protocol": "tests/protocol",
    "simulation": "tests/simulation",
}
IMPORT_NAMES = ("mockbroker", "mockbroker_protocol", "simulation")
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 70
MAX_LINE_LENGTH = 100
MAX_METHODS = 30
MAX_PARAMETERS = 8
MAX_ROOMS = 31
MAX_FLOORS = 14
MAX_ARROWS = 168
MAX_LOOSE_MODULES = 5
# Spelled in halves, so that this file may stand in its own search.
LEFTOVERS = ("TO" + "DO", "FIX" + "ME", "X" * 3, "NotImplemented" + "Error")

# A module whose tests are elsewhere, and where. Keep it tiny.
TESTED_ELSEWHERE = {
    "mockbroker/__main__.py": "tests/mockbroker/cli/test_main.py",
    "mockbroker/pipeline/__main__.py": "tests/mockbroker/pipeline/test_command.py",
    "mockbroker/what_if/errors.py": "tests/mockbroker/what_if/test_topology.py",
}
for part in (
    "fetch_classes",
    "fetch_parts",
    "metadata_classes",
    "produce_classes",
    "produce_parts",
):
    test = f"tests/protocol/messages/test_{part.partition('_')[0]}.py"
    TESTED_ELSEWHERE[f"protocol/mockbroker_protocol/messages/{part}.py"] = test


@cache
def python_files(*folders: str) -> tuple[Path, ...]:
    return tuple(path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))


def all_files() -> tuple[Path, ...]:
    return python_files(*PACKAGES, "tests", "scripts")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_files_fit_in_one_reading() -> None:
    lengths = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in all_files()}
    assert {name: n for name, n in lengths.items() if n > MAX_FILE_LINES} == {}


def test_functions_fit_on_one_screen() -> None:
    lengths = {
        f"{name_of(path)}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in all_files()
        for node in functions(path)
    }
    assert {name: n for name, n in lengths.items() if n > MAX_FUNCTION_LINES} == {}


def test_classes_have_one_duty() -> None:
    methods = {
        f"{name_of(path)} {node.name}": sum(
            isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in node.body
        )
        for path in python_files(*PACKAGES)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
    }
    assert {name: n for name, n in methods.items() if n > MAX_METHODS} == {}


def test_signatures_can_be_remembered() -> None:
    parameters = {
        f"{name_of(path)}:{node.lineno} {node.name}": len(
            [
                each.arg
                for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                if each.arg not in {"self", "cls"}
            ]
        )
        for path in python_files(*PACKAGES)
        if not path.stem.endswith(("_classes", "log_config"))  # fields of messages, topics' configs
        for node in functions(path)
    }
    assert {name: n for name, n in parameters.items() if n > MAX_PARAMETERS} == {}


@cache
def import_graph() -> dict[str, set[str]]:
    """The modules that each module imports, those of its annotations included."""
    graph = grimp.build_graph(*IMPORT_NAMES, exclude_type_checking_imports=False)
    return {
        module: graph.find_modules_directly_imported_by(module) for module in sorted(graph.modules)
    }


def room_of(module: str) -> str:
    return (
        ".".join(module.split(".")[:2])
        if module.startswith("mockbroker.")
        else module.split(".", maxsplit=1)[0]
    )


def arrows() -> set[tuple[str, str]]:
    """Which room of the product imports from which."""
    return {
        (room_of(module), room_of(each))
        for module, imported in import_graph().items()
        for each in imported
        if room_of(module) != room_of(each) and room_of(module) != "simulation"
    }


def layers() -> dict[str, int]:
    """The floor of each room, by the import contract."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (rooms,) = [
        contract["layers"]
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["id"] == "rooms"
    ]
    return {room.strip(): n for n, floor in enumerate(rooms) for room in floor.split("|")}


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Annotations count: a type that two modules need stands below both."""
    TopologicalSorter(import_graph()).prepare()


def test_each_room_imports_from_the_rooms_below_it() -> None:
    floor = layers()
    tops = {"mockbroker", "mockbroker.__main__"}
    assert {
        f"{room} -> {below}"
        for room, below in arrows()
        if room not in tops and below not in tops and floor[room] >= floor[below]
    } == set()


def test_the_house_is_small_enough_to_know() -> None:
    rooms = {room for arrow in arrows() for room in arrow}
    assert len(rooms) <= MAX_ROOMS
    assert max(layers().values()) + 1 <= MAX_FLOORS
    assert len(arrows()) < MAX_ARROWS
    assert len(list((ROOT / "mockbroker").glob("*.py"))) <= MAX_LOOSE_MODULES


def test_the_page_names_each_room() -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text("utf-8")
    names = {room.removeprefix("mockbroker.").removesuffix(".testcontainers") for room in layers()}
    assert {name for name in names if f"`{name}" not in page and f".{name}`" not in page} == set()


def test_lines_fit_beside_each_other() -> None:
    assert [
        f"{name_of(path)}:{number}"
        for path in all_files()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if len(line) > MAX_LINE_LENGTH
    ] == []


def test_modules_say_what_they_are_for() -> None:
    assert [
        name_of(path)
        for path in python_files(*PACKAGES)
        if tree_of(path).body and not ast.get_docstring(tree_of(path))
    ] == []


def test_nothing_is_left_for_later() -> None:
    assert [
        f"{name_of(path)}: {word}"
        for path in all_files()
        for word in LEFTOVERS
        if word in path.read_text("utf-8")
    ] == []


def test_tests_do_not_sleep() -> None:
    assert [
        f"{name_of(path)}:{node.lineno}"
        for path in python_files("tests")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and is_sleep(node)
    ] == []


def is_sleep(call: ast.Call) -> bool:
    """Says whether a call waits for time to pass; `asyncio.sleep(0)` only yields."""
    target = call.func
    name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
    yields = [ast.unparse(argument) for argument in call.args] == ["0"]
    return name == "sleep" and not yields


def test_each_module_has_its_test_file() -> None:
    missing = {}
    for path in python_files(*PACKAGES):
        test = TESTED_ELSEWHERE.get(name_of(path)) or mirror_of(path)
        if path.name != "__init__.py" and not (ROOT / test).exists():
            missing[name_of(path)] = test
    assert missing == {}


def mirror_of(module: Path) -> str:
    package = package_of(module, PACKAGES)
    relative = module.relative_to(ROOT / package)
    return (Path(PACKAGES[package]) / relative.parent / f"test_{relative.name}").as_posix()


def package_of(path: Path, folders: Iterable[str]) -> str:
    return next(folder for folder in folders if path.is_relative_to(ROOT / folder))


def test_each_test_file_mirrors_a_module() -> None:
    """`test_unified_log_reads.py` may stand beside `test_unified_log.py`."""
    assert [
        name_of(path)
        for path in python_files(*PACKAGES.values())
        if path.name.startswith("test_") and not mirrors_a_module(path)
    ] == []


def mirrors_a_module(test: Path) -> bool:
    packages = {tests: package for package, tests in PACKAGES.items()}
    tests = package_of(test, packages)
    folder = ROOT / packages[tests] / test.relative_to(ROOT / tests).parent
    name = test.stem.removeprefix("test_")
    return any(name == path.stem or name.startswith(f"{path.stem}_") for path in folder.glob("*"))
