"""`NamedTuple`: what it shares with that of `typing`, which it stands for."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import typing

import pytest

from mockbroker_protocol.named_tuple import NamedTuple


class Ours(NamedTuple):
    """Two numbers and a text."""

    first: int
    second: int = 2
    text: str = "x"

    @property
    def total(self) -> int:
        return self.first + self.second


class Theirs(typing.NamedTuple):
    first: int
    second: int = 2
    text: str = "x"


def test_it_is_made_as_that_of_typing() -> None:
    pairs: list[tuple[object, object]] = [
        (Ours(1), Theirs(1)),
        (Ours(1, 5, text="y"), Theirs(1, 5, text="y")),
        (Ours(first=4), Theirs(first=4)),
    ]
    for ours, theirs in pairs:
        assert ours == theirs
        assert hash(ours) == hash(theirs)
        assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert Ours(1)._asdict() == Theirs(1)._asdict()


@pytest.mark.parametrize(("args", "kwargs"), [((), {}), ((1, 2, "x", 4), {}), ((1,), {"no": 2})])
def test_what_is_no_field_is_refused_each_time(
    args: tuple[int, ...], kwargs: dict[str, int]
) -> None:
    for _ in range(2):
        with pytest.raises(TypeError):
            Ours(*args, **kwargs)  # type: ignore[arg-type]


def test_its_class_tells_the_same() -> None:
    for name in ("_fields", "_field_defaults", "__match_args__", "__slots__", "__mro__"):
        assert hasattr(Ours, name) == hasattr(Theirs, name)
    assert Ours._fields == Theirs._fields == Ours.__match_args__
    assert Ours._field_defaults == Theirs._field_defaults
    assert Ours.__doc__ == "Two numbers and a text."
    assert not hasattr(Ours(1), "__dict__")


def test_it_changes_copies_and_matches() -> None:
    made = Ours(1, 3)
    assert made._replace(text="z") == Ours(1, 3, "z")
    assert Ours._make([1, 3]) == made
    with pytest.raises(TypeError):
        made._replace(no=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        made.first = 4  # type: ignore[misc]
    for same in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert same == made
        assert type(same) is Ours
    match made:
        case Ours(first, second, text):
            assert (first, second, text) == (1, 3, "x")
    assert made.total == 4


def test_a_subclass_has_its_fields() -> None:
    class Named(Ours):
        __slots__ = ()

        def double(self) -> int:
            return 2 * self.total

    assert Named(1).double() == 6
    assert repr(Named(1)) == "Named(first=1, second=2, text='x')"
    assert type(Ours(1)) is Ours


def test_a_declaration_compiles_nothing() -> None:
    code = """
import sys
seen = []
sys.addaudithook(lambda event, args: seen.append(event) if event == "compile" else None)
from mockbroker_protocol.named_tuple import NamedTuple
seen.clear()
class Pair(NamedTuple):
    __annotations__ = {"one": "Unknown[int]", "two": "int | None"}
declared = len(seen)
assert Pair(1, 2).two == 2 and Pair(3, 4).one == 3
print(declared, len(seen))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1"]
