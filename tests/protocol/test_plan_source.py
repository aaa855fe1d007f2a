from __future__ import annotations

import linecache

import pytest

from mockbroker_protocol.plan_source import (
    Module,
    Run,
    Source,
    absent_fields,
    inline_fields,
    least_size,
    tagged_fields,
)
from mockbroker_protocol.schema_fields import WireType, fields_of
from tests.support.schemas import Everything, Inner, Pair


def names(fields: list[object]) -> list[str]:
    return [getattr(field, "name", "") for field in fields]


def test_a_module_builds_functions_that_share_its_scope() -> None:
    module = Module(Pair, 3, flexible=True)
    source = Source("def entry(a):")
    with source.block("if a:"):
        source(f"return {module.literal(b'constant')}")
    source(f"return {module.literal(7)}")
    entry = module.build("entry", source)
    assert (entry(1), entry(0)) == (b"constant", 7)
    assert linecache.getline("<entry Pair v3>", 2) == "    if a:\n"


def test_what_is_for_later_is_written_once_when_it_is_called() -> None:
    module = Module(Pair, 3, flexible=True)
    written: list[str] = []

    def write() -> Source:
        written.append("rare")
        source = Source("def rare(a):")
        source("return -a")
        return source

    module.later("rare", write)
    entry_source = Source("def entry(a):")
    entry_source("return rare(a) if a > 9 else a")
    entry = module.build("entry", entry_source)
    assert (entry(1), written) == (1, [])
    assert (entry(10), entry(11), written) == (-10, -11, ["rare"])


def test_equal_structs_and_the_same_object_share_a_global() -> None:
    module = Module(Pair, 0, flexible=False)
    assert module.packer("ii") == module.packer("ii") != module.packer("iq")
    default = object()
    assert module.literal(default) == module.literal(default)


def test_a_run_is_empty_once_taken() -> None:
    run = Run()
    run.add("i", "a")
    run.add("16s", "b")
    run.add("B", "n")
    assert run.take() == ("i16sB", ["a", "b", "n"], 21)
    assert run.take() == ("", [], 0)


@pytest.mark.parametrize(
    ("version", "flexible", "size"),
    [(0, False, 4), (1, False, 12), (2, True, 13)],
)
def test_the_least_size_of_a_struct_follows_the_version(
    version: int, flexible: bool, size: int
) -> None:
    assert least_size(WireType("struct", cls=Pair), version, flexible=flexible) == size


def test_the_least_size_of_lengths() -> None:
    assert least_size(WireType("string"), 0, flexible=False) == 2
    assert least_size(WireType("bytes"), 0, flexible=False) == 4
    assert least_size(WireType("array"), 0, flexible=True) == 1


def test_fields_are_inline_tagged_or_absent() -> None:
    assert names([*absent_fields(Inner, 0)]) == ["count", "note"]
    assert names([*inline_fields(Inner, 2, flexible=True)]) == ["name", "count"]
    assert names([*tagged_fields(Inner, 2, flexible=True)]) == ["note"]
    for version in range(5):
        kinds = (
            inline_fields(Everything, version, flexible=version >= 2),
            tagged_fields(Everything, version, flexible=version >= 2),
            absent_fields(Everything, version),
        )
        assert sum(map(len, kinds)) == len(fields_of(Everything))
    assert names([*tagged_fields(Everything, 3, flexible=True)]) == [
        "tagged_struct",
        "tagged_number",
        "tagged_nullable",
        "moved",
    ]
