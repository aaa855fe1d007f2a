"""CRC-32C (Castagnoli), the checksum of magic-2 batches, by the `crc32c` package.

`batch` calls this for every appended batch. The package's `__init__` asks for its own version
and so loads `importlib.metadata` (some 50 ms); only its extension module is wanted here, so that
one alone is loaded, and only when the first checksum is asked for. The extension reads any
buffer in place, without a copy, and lets other threads run while it reads a large one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

Checksum = Callable[["bytes | bytearray | memoryview", int], int]


_loaded: Checksum | None = None


def crc32c(data: bytes | bytearray | memoryview, crc: int = 0) -> int:
    """CRC-32C of `data`, continuing from `crc`: that of the bytes before it."""
    native = _loaded
    if native is None:
        native = load()
    return native(data, crc)


def load() -> Checksum:
    """The native function; `serve` may ask for it while idle, so that no append waits for it."""
    global _loaded  # noqa: PLW0603 -- asked for by every append: a cache's call costs as much
    native = _loaded
    if native is None:
        native = _loaded = _load_extension() or _load_package()
    return native


def _load_extension() -> Checksum | None:
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    package = PathFinder.find_spec("crc32c")
    if package is None or package.submodule_search_locations is None:
        return None
    spec = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Checksum | None", getattr(module, "crc32c", None))


def _load_package() -> Checksum:
    from crc32c import crc32c as native

    return cast("Checksum", native)
