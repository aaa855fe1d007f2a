from __future__ import annotations

import copy
import pickle
import sys
from typing import Annotated

import pytest

from mockbroker_protocol.messages import fetch, metadata, produce
from mockbroker_protocol.messages.fetch import FetchRequest, FetchRequestPartition
from mockbroker_protocol.schema import V, int32, message, schema_of, struct
from tests.support.schemas import Everything, Inner, Pair, everything

WRITTEN_OUT = [
    cls
    for module in (fetch, metadata, produce)
    for cls in vars(module).values()
    if isinstance(cls, type) and cls.__module__ == f"{module.__name__}_classes"
]


def test_classes_are_slotted_and_take_positions_and_keywords() -> None:
    pair = Pair(1, second=2)
    assert (pair.first, pair.second) == (1, 2)
    assert not hasattr(pair, "__dict__")
    with pytest.raises(AttributeError):
        pair.third = 3  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="first"):
        Pair()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="other"):
        Pair(1, other=2)  # type: ignore[call-arg]


def test_mutable_defaults_are_fresh_in_each_instance() -> None:
    one, two = everything(), everything()
    one.texts.append("x")
    one.pair.first = 5
    one.numbers.append(1)
    assert (two.texts, two.pair.first, two.numbers) == ([], 0, [])


def test_equality_compares_fields_and_unknown_tags() -> None:
    assert Pair(1, 2) == Pair(1, 2)
    assert Pair(1, 2) != Pair(1, 3)
    other: object = Inner("1")
    assert Pair(1) != other
    one, two = Pair(1), Pair(1)
    one.unknown_tags = {}  # type: ignore[attr-defined]  # a slot that mypy does not see
    assert one == two
    one.unknown_tags = {4: b"x"}  # type: ignore[attr-defined]
    assert one != two
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_repr_names_what_is_read_so_far() -> None:
    half = Pair.__new__(Pair)
    half.first = 1
    assert repr(half) == "Pair(first=1)"


def test_repr_names_each_field() -> None:
    pair = Pair(1, 2)
    assert repr(pair) == "Pair(first=1, second=2)"
    pair.unknown_tags = {4: b"x"}  # type: ignore[attr-defined]
    assert repr(pair) == "Pair(first=1, second=2, unknown_tags={4: b'x'})"


def test_instances_can_be_copied_and_pickled() -> None:
    made = everything(pairs=[Pair(1)])
    assert copy.deepcopy(made) == made
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_message_knows_its_key_and_versions() -> None:
    schema = schema_of(Everything)
    assert (schema.api_key, schema.min_version, schema.max_version) == (900, 0, 4)
    assert (schema.flexible, schema.is_message) == (2, True)
    assert Everything.API_KEY == 900  # type: ignore[attr-defined]
    assert Everything.MAX_VERSION == 4  # type: ignore[attr-defined]
    assert not schema_of(Pair).is_message


def test_declaring_reads_no_annotation_and_compiles_nothing() -> None:
    @struct
    class Later:
        value: Unheard  # type: ignore[name-defined]  # noqa: F821

    assert schema_of(Later).field_names == ("value",)
    assert "__init__" in Later.__dict__
    assert Later(3).value == 3


def test_methods_and_docstrings_stay() -> None:
    @message(versions=(0, 0))
    class Counted:
        """Has a method."""

        count: int32 = 1
        label: Annotated[str, V(since=1)] = ""

        def twice(self) -> int:
            return 2 * self.count

    assert Counted(4).twice() == 8
    assert Counted.__doc__ == "Has a method."
    assert Counted.__module__ == __name__
    assert Counted.__qualname__.endswith("<locals>.Counted")


def test_a_field_without_default_after_one_with_default_is_refused_by_name() -> None:
    @struct
    class Backwards:
        first: int32 = 0
        second: int32  # type: ignore[misc]

    with pytest.raises(TypeError, match="Backwards"):
        Backwards(1, 2)


@pytest.mark.parametrize("cls", WRITTEN_OUT, ids=lambda cls: cls.__name__)
def test_a_class_that_is_written_out_is_as_its_declaration(cls: type) -> None:
    fields = [*schema_of(cls).field_names, "unknown_tags"]
    made, other = cls(), cls()
    assert sorted(fields) == sorted(name for name in dir(made) if name in fields)
    assert made == other
    assert cls() != 3
    values = [getattr(made, name) for name in fields]
    assert cls(*values) == made
    for name, value in zip(fields, values, strict=True):
        assert value is None or not isinstance(value, list) or value is not getattr(other, name)
        changed = cls(**{name: _another(name, value)})
        assert getattr(changed, name) == _another(name, value)
        assert (changed == made) == (_another(name, value) == value)
    assert repr(made).startswith(f"{cls.__name__}({fields[0]}={values[0]!r}")
    assert copy.copy(made) == pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def _another(name: str, value: object) -> object:
    """Another value that a field may have."""
    if name == "unknown_tags":
        return {4: b"x"}
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return 5
    if isinstance(value, bytes):
        return b"5" * 16
    return "5" if isinstance(value, str) else value


def test_written_out_messages_know_their_key_and_versions() -> None:
    assert (FetchRequest.API_KEY, FetchRequest.MIN_VERSION) == (1, 3)  # type: ignore[attr-defined]
    assert not schema_of(FetchRequestPartition).is_message


def test_other_classes_have_no_schema() -> None:
    with pytest.raises(TypeError, match="int is neither"):
        schema_of(int)


def test_importing_the_schema_brings_in_nothing_heavy() -> None:
    import subprocess

    code = "import sys, mockbroker_protocol.schema; print('dataclasses' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ran.stdout.strip() == b"False"
