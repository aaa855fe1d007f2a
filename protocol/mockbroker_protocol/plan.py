"""Bodies of messages to and from bytes, through plans compiled on first use.

    request, pos = decode(MetadataRequest, 12, frame, header.body_pos)
    chunks = encode(response, 12)

One plan is a Python function for one (class, version), written by `plan_decode` and `plan_encode`
from the schema. The caches here are the only state in the codec; they grow to the number of
versions that are spoken and no further.

A large message is read and written in slices, by `decode_in_slices` and `encode_in_slices`: the
same plans as generators, so that whoever runs them can do something else in between.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar, cast

from mockbroker_protocol.primitives import Buffer
from mockbroker_protocol.schema import Schema, schema_of

T = TypeVar("T")

_decoders: dict[tuple[type, int], Callable[[Buffer, int], tuple[object, int]]] = {}
_encoders: dict[tuple[type, int], Callable[[object], list[Buffer]]] = {}
_sliced_decoders: dict[tuple[type, int], Callable[..., Generator[int, None, object]]] = {}
_sliced_encoders: dict[tuple[type, int], Callable[..., Generator[int, None, list[Buffer]]]] = {}


def decode(cls: type[T], version: int, buf: Buffer, pos: int = 0) -> tuple[T, int]:
    """Read a body at `pos`; (message, position after it).

    Bytes after the body are left to the caller. Records are views of `buf`, or of a copy when
    `buf` is itself a memoryview. ProtocolError when the bytes are no such message; ValueError
    when the class does not know the version.
    """
    plan = _decoders.get((cls, version))
    if plan is None:
        return decoder(cls, version)(buf, pos)
    return plan(buf, pos)  # type: ignore[return-value]  # the key says which class comes out


def encode(message: object, version: int) -> list[Buffer]:
    """The chunks of a body, to be sent in this order.

    Large chunks of records are the caller's own buffers. ValueError when a field holds what the
    version cannot carry, or the class does not know the version.
    """
    plan = _encoders.get((type(message), version))
    if plan is None:
        return encoder(type(message), version)(message)
    return plan(message)


def decoder(cls: type[T], version: int) -> Callable[[Buffer, int], tuple[T, int]]:
    """The compiled function (buf, pos) → (message, position after it)."""
    plan = _decoders.get((cls, version))
    if plan is None:
        from mockbroker_protocol.plan_decode import compile_decoder

        _check_version(schema_of(cls), version)
        plan = _decoders[cls, version] = compile_decoder(cls, version)
    return cast("Callable[[Buffer, int], tuple[T, int]]", plan)


def encoder(cls: type[T], version: int) -> Callable[[T], list[Buffer]]:
    """The compiled function (message) → chunks."""
    plan = _encoders.get((cls, version))
    if plan is None:
        from mockbroker_protocol.plan_encode import compile_encoder

        _check_version(schema_of(cls), version)
        compiled = compile_encoder(cls, version)
        plan = _encoders[cls, version] = cast("Callable[[object], list[Buffer]]", compiled)
    return cast("Callable[[T], list[Buffer]]", plan)


def decode_in_slices(
    cls: type[T], version: int, buf: Buffer, pos: int = 0, *, most: int = 1 << 31
) -> Generator[int, None, tuple[T, int]]:
    """As `decode`; yields after each slice how many elements were read in it.

    ProtocolError for an array of more than `most`, before any of it is read.
    """
    plan = _sliced_decoders.get((cls, version))
    if plan is None:
        from mockbroker_protocol.plan_decode import compile_sliced_decoder

        _check_version(schema_of(cls), version)
        compiled: Callable[..., Generator[int, None, object]] = compile_sliced_decoder(cls, version)
        plan = _sliced_decoders[cls, version] = compiled
    return cast("Generator[int, None, tuple[T, int]]", plan(buf, pos, most))


def encode_in_slices(message: object, version: int) -> Generator[int, None, list[Buffer]]:
    """As `encode`; yields after each slice how many elements were written in it."""
    cls = type(message)
    plan = _sliced_encoders.get((cls, version))
    if plan is None:
        from mockbroker_protocol.plan_encode import compile_sliced_encoder

        _check_version(schema_of(cls), version)
        plan = _sliced_encoders[cls, version] = compile_sliced_encoder(cls, version)
    return plan(message)


def _check_version(schema: Schema, version: int) -> None:
    if not schema.is_message:
        raise TypeError(f"{schema.cls.__name__} is a @struct: it travels inside a @message")
    if not schema.min_version <= version <= schema.max_version:
        raise ValueError(
            f"{schema.cls.__name__} has versions {schema.min_version} to "
            f"{schema.max_version}, not {version}"
        )
