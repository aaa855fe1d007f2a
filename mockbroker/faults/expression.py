"""A small language of conditions on requests, for rules that come as text: `Fault.when`.

The grammar is a part of Python's expressions, read by its parser and evaluated here, never by
`eval`: names of `RequestView`, attributes of messages and records, indexes, comparisons, `and`,
`or`, `not`, `if … else`, arithmetic on numbers, tuples, lists, comprehensions, and FUNCTIONS.
docs/faults.md has examples.

Invariants: nothing is reached but the fields that messages, records and the view declare, and what
JSON holds; an expression ends after MAX_STEPS steps, of which each node, item and 64 bytes of a
text or JSON document is one.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final

from mockbroker.faults.errors import nearest
from mockbroker.faults.request_view import VARIABLES, RequestRecord, RequestView
from mockbroker_protocol.schema import is_declared, schema_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Compare = Callable[[object, object], bool]
    Node = Callable[["_Run"], object]

MAX_SOURCE: Final = 1_000
MAX_NODES: Final = 150
MAX_STEPS: Final = 10_000
_MAX_INT: Final = 1 << 64
_BYTES_A_STEP: Final = 64


class ExpressionError(ValueError):
    """A text that is no condition, or a condition that a request cannot be held against."""


class _Run:
    """One evaluation: the request, the names bound by comprehensions, the steps left."""

    __slots__ = ("bound", "left", "view")

    def __init__(self, view: RequestView) -> None:
        self.view = view
        self.bound: dict[str, Any] = {}
        self.left = MAX_STEPS

    def spend(self, steps: int = 1) -> None:
        self.left -= steps
        if self.left < 0:
            raise ExpressionError(f"it takes more than {MAX_STEPS} steps")


class Expression:
    """A condition. Raises ExpressionError when the text is none."""

    __slots__ = ("_node", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._node = _Compiler().read(source)

    def __call__(self, view: RequestView) -> bool:
        """Whether it holds for a request. Raises ExpressionError when that cannot be told."""
        return bool(self._node(_Run(view)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r})"


class _Compiler:
    """Makes a function of each node of a parsed expression."""

    def __init__(self) -> None:
        self._bound: list[str] = []

    def read(self, source: str) -> Node:
        if len(source) > MAX_SOURCE:
            raise ExpressionError(f"it is longer than {MAX_SOURCE} characters")
        try:
            tree = ast.parse(source.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise ExpressionError(f"{source!r} cannot be read: {reason}") from None
        if sum(1 for _ in ast.walk(tree)) > MAX_NODES * 2:  # a context node beside each name
            raise ExpressionError(f"it has more than {MAX_NODES} parts")
        return self.node(tree)

    def node(self, tree: ast.expr) -> Node:
        """The function of a node; it counts as a step."""
        make = getattr(self, f"_{type(tree).__name__.lower()}", None)
        if make is None:
            raise ExpressionError(f"{ast.unparse(tree)!r} is not part of this language")
        evaluate: Node = make(tree)

        def counted(run: _Run) -> object:
            run.spend()
            return evaluate(run)

        return counted

    def _constant(self, tree: ast.Constant) -> Node:
        value = tree.value
        if not isinstance(value, str | bytes | int | float | None) or (
            isinstance(value, int) and value > _MAX_INT
        ):
            raise ExpressionError(f"{ast.unparse(tree)!r} is not part of this language")
        return lambda _run: value

    def _name(self, tree: ast.Name) -> Node:
        name = tree.id
        if name in self._bound:
            return lambda run: run.bound[name]
        if name not in VARIABLES:
            raise ExpressionError(f"there is no {name!r}; allowed: {nearest(name, VARIABLES)}")
        return lambda run: getattr(run.view, name)

    def _attribute(self, tree: ast.Attribute) -> Node:
        value, name = self.node(tree.value), tree.attr
        return lambda run: _field(value(run), name)

    def _subscript(self, tree: ast.Subscript) -> Node:
        value, index = self.node(tree.value), self.node(tree.slice)
        return lambda run: _item(value(run), index(run))

    def _tuple(self, tree: ast.Tuple | ast.List) -> Node:
        parts = [self.node(part) for part in tree.elts]
        return lambda run: [part(run) for part in parts]

    _list = _tuple

    def _boolop(self, tree: ast.BoolOp) -> Node:
        parts = [self.node(part) for part in tree.values]
        if isinstance(tree.op, ast.And):
            return lambda run: all(part(run) for part in parts)
        return lambda run: any(part(run) for part in parts)

    def _unaryop(self, tree: ast.UnaryOp) -> Node:
        value = self.node(tree.operand)
        if isinstance(tree.op, ast.Not):
            return lambda run: not value(run)
        if isinstance(tree.op, ast.USub):
            return lambda run: -_number(value(run))
        raise ExpressionError(f"{ast.unparse(tree)!r} is not part of this language")

    def _binop(self, tree: ast.BinOp) -> Node:
        act = _ARITHMETIC.get(type(tree.op))
        if act is None:
            raise ExpressionError(f"{ast.unparse(tree)!r} is not part of this language")
        left, right = self.node(tree.left), self.node(tree.right)

        def calculated(run: _Run) -> float:
            try:
                return act(_number(left(run)), _number(right(run)))
            except ArithmeticError as error:
                raise ExpressionError(str(error)) from None

        return calculated

    def _ifexp(self, tree: ast.IfExp) -> Node:
        test, then, other = self.node(tree.test), self.node(tree.body), self.node(tree.orelse)
        return lambda run: then(run) if test(run) else other(run)

    def _compare(self, tree: ast.Compare) -> Node:
        first = self.node(tree.left)
        rest = [
            (_COMPARISONS[type(op)], self.node(part))
            for op, part in zip(tree.ops, tree.comparators, strict=True)
        ]

        def compared(run: _Run) -> bool:
            left = first(run)
            for compare, part in rest:
                right = part(run)
                run.spend(_weight(left) + _weight(right))
                if not compare(*_alike(left, right)):
                    return False
                left = right
            return True

        return compared

    def _generatorexp(self, tree: ast.GeneratorExp | ast.ListComp) -> Node:
        loops = []
        for loop in tree.generators:
            if not isinstance(loop.target, ast.Name) or loop.is_async:
                raise ExpressionError(f"{ast.unparse(tree)!r} is not part of this language")
            if loop.target.id in self._bound:
                raise ExpressionError(f"{loop.target.id!r} means two things")
            items = self.node(loop.iter)
            self._bound.append(loop.target.id)
            loops.append((loop.target.id, items, [self.node(test) for test in loop.ifs]))
        made = self.node(tree.elt)
        del self._bound[-len(loops) :]

        def walk(run: _Run, depth: int) -> Iterator[Any]:
            if depth == len(loops):
                yield made(run)
                return
            name, items, tests = loops[depth]
            for item in _sequence(items(run)):
                run.spend()
                run.bound[name] = item
                if all(test(run) for test in tests):
                    yield from walk(run, depth + 1)

        return lambda run: walk(run, 0)

    def _listcomp(self, tree: ast.ListComp) -> Node:
        generate = self._generatorexp(tree)
        return lambda run: list(_items(generate(run)))

    def _call(self, tree: ast.Call) -> Node:
        name = tree.func.id if isinstance(tree.func, ast.Name) else ast.unparse(tree.func)
        if name not in FUNCTIONS:
            raise ExpressionError(f"there is no function {name}; allowed: {', '.join(FUNCTIONS)}")
        function, count = FUNCTIONS[name]
        if len(tree.args) != count or tree.keywords:
            raise ExpressionError(f"{name} takes {count} value(s)")
        parts = [self.node(part) for part in tree.args]
        return lambda run: function(run, *[part(run) for part in parts])


# -- values ----------------------------------------------------------------------------------


def _field(value: object, name: str) -> object:
    """A field that the value declares; nothing else of an object is reached."""
    if isinstance(value, RequestRecord):
        known: Sequence[str] = value._fields
    elif is_declared(type(value)):
        known = schema_of(type(value)).field_names
    else:
        raise ExpressionError(f"{type(value).__name__} has no fields, so no {name!r}")
    if name not in known:
        raise ExpressionError(
            f"{type(value).__name__} has no {name!r}; allowed: {nearest(name, known)}"
        )
    found: object = getattr(value, name)
    return found


def _item(value: object, index: object) -> object:
    """An item of a list, or a member of a JSON object; None where there is none."""
    if isinstance(value, dict):
        return value.get(index) if isinstance(index, str) else None
    if value is None:
        return None
    if not isinstance(index, int):
        raise ExpressionError(f"{index!r} is no index")
    items = _sequence(value)
    return items[index] if -len(items) <= index < len(items) else None


def _sequence(value: object) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, list | tuple | str | bytes):
        return value
    if isinstance(value, dict):
        return list(value)
    raise ExpressionError(f"{type(value).__name__} is no list")


def _number(value: object) -> float:
    if isinstance(value, int | float):
        return value
    raise ExpressionError(f"{value!r} is no number")


def _weight(value: object) -> int:
    return len(value) // _BYTES_A_STEP if isinstance(value, str | bytes | list) else 0


def _alike(left: object, right: object) -> tuple[object, object]:
    """Text and bytes compare as UTF-8: a record's key is bytes, a literal is text."""
    if isinstance(left, str) and isinstance(right, bytes):
        return left.encode(), right
    if isinstance(left, bytes) and isinstance(right, str):
        return left, right.encode()
    if isinstance(right, list) and isinstance(left, str | bytes):
        return _text(left), [_text(one) if isinstance(one, str | bytes) else one for one in right]
    return left, right


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _ordered(compare: Callable[[Any, Any], bool]) -> Compare:
    def ordered(left: object, right: object) -> bool:
        try:
            return compare(left, right)
        except TypeError:
            message = f"{type(left).__name__} and {type(right).__name__} have no order"
            raise ExpressionError(message) from None

    return ordered


def _contains(left: object, right: object) -> bool:
    if isinstance(right, str | bytes) and type(left) is not type(right):
        return False
    return left in (right if isinstance(right, str | bytes | dict) else _sequence(right))


_ARITHMETIC: Final[dict[type, Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
}
_COMPARISONS: Final[dict[type, Compare]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: _ordered(operator.lt),
    ast.LtE: _ordered(operator.le),
    ast.Gt: _ordered(operator.gt),
    ast.GtE: _ordered(operator.ge),
    ast.In: _contains,
    ast.NotIn: lambda left, right: not _contains(left, right),
    ast.Is: lambda left, right: left is right,
    ast.IsNot: lambda left, right: left is not right,
}


def _items(value: object) -> Iterable[object]:
    """What a comprehension makes, or the items of a list."""
    return value if isinstance(value, Generator) else _sequence(value)


# -- functions -------------------------------------------------------------------------------


def _any(_run: _Run, values: object) -> bool:
    return any(_items(values))


def _all(_run: _Run, values: object) -> bool:
    return all(_items(values))


def _len(_run: _Run, value: object) -> int:
    return sum(1 for _ in _items(value))


def _glob(run: _Run, value: object, pattern: object) -> bool:
    if value is None:
        return False
    if not isinstance(value, str | bytes) or not isinstance(pattern, str):
        raise ExpressionError("glob takes a text and a pattern")
    from fnmatch import fnmatchcase

    run.spend(_weight(value) * max(1, len(pattern)))
    return fnmatchcase(_text(value), pattern)


def _json(run: _Run, value: object) -> object:
    """What a JSON document holds; None for what is none."""
    if not isinstance(value, str | bytes):
        return None
    import json

    run.spend(_weight(value))
    try:
        found: object = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found


FUNCTIONS: Final[dict[str, tuple[Callable[..., Any], int]]] = {
    "any": (_any, 1),
    "all": (_all, 1),
    "len": (_len, 1),
    "glob": (_glob, 2),
    "json": (_json, 1),
}
"""By name, with the number of values that each takes."""
