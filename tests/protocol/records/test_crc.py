from __future__ import annotations

import subprocess
import sys
from importlib.machinery import PathFinder

import pytest

from mockbroker_protocol.records import crc

CHECK = 0xE3069283  # the checksum of b"123456789", by RFC 3720's polynomial


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_known_value_from_any_buffer(kind: type[bytes]) -> None:
    assert crc.crc32c(kind(b"123456789")) == CHECK


def test_continues_from_what_came_before() -> None:
    assert crc.crc32c(b"56789", crc.crc32c(b"1234")) == CHECK


def test_slice_of_a_view_is_read_in_place() -> None:
    assert crc.crc32c(memoryview(b"xx123456789yy")[2:-2]) == CHECK


def test_falls_back_to_the_whole_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crc, "_load_extension", lambda: None)
    monkeypatch.setattr(crc, "_loaded", None)
    assert crc.crc32c(b"123456789") == CHECK
    assert crc._loaded is not None


def test_no_extension_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.machinery.PathFinder.find_spec", lambda *_: None)
    assert crc._load_extension() is None


def test_no_extension_where_the_package_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    find = PathFinder.find_spec
    monkeypatch.setattr(
        "importlib.machinery.PathFinder.find_spec",
        lambda name, path=None: None if "." in name else find(name, path),
    )
    assert crc._load_extension() is None


def test_native_libraries_wait_for_their_first_use() -> None:
    code = f"""
import sys
sys.path[:] = {sys.path!r}
import mockbroker_protocol.records.batch, mockbroker_protocol.records.conversion
from mockbroker_protocol.records.crc import crc32c
print([name for name in ("cramjam", "crc32c") if name in sys.modules])
crc32c(b"")
print("importlib.metadata" in sys.modules)
"""
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "False"]
