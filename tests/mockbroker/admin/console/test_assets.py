"""The files of the console: all are there, small, and stay what their makers published."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from mockbroker.admin.console.assets import PAGE, POLICY, asset, names

VENDORED = {
    # htm 3.1.1, htm/preact/standalone.module.js of npm, with Preact inside.
    "vendor/preact-htm.js": "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7",
}
CHANGES = (
    (b"/* Changed: htm keeps no element of a template. See LICENSES.txt. */\n", b""),
    (b"t.push(o),n[0]|=2)", b"t.push(o),l[0]?n[0]|=2:(n[r-2]=0,n[r]=o))"),
)
"""Of ours, and what was there."""
MODULES = [name for name in names() if name.endswith(".js") and name not in VENDORED]


def text_of(name: str) -> str:
    found = asset(name)
    assert found is not None
    return found.data.decode()


def test_the_page_loads_files_that_there_are() -> None:
    wanted = re.findall(r'(?:src|href)="/console/([^"]+)"', text_of(PAGE))
    assert len(wanted) == 3
    assert set(wanted) <= set(names())


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_what_others_export(name: str) -> None:
    for wanted, source in re.findall(r'import \{([^}]*)\} from "\./([^"]+)";', text_of(name)):
        exported = set(
            re.findall(r"export (?:async )?(?:function|const|class) (\w+)", text_of(source))
        )
        if source in VENDORED:
            exported = set(re.findall(r" as (\w+)", text_of(source)))
        assert {one.strip() for one in wanted.split(",") if one.strip()} <= exported


@pytest.mark.parametrize("name", MODULES)
def test_a_module_fits_in_one_reading_and_makes_no_markup_of_text(name: str) -> None:
    text = text_of(name)
    assert len(text.splitlines()) <= 600
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
    ):
        assert way not in text
    assert re.findall(r"https?://", text) == []


@pytest.mark.parametrize(("name", "digest"), VENDORED.items())
def test_a_library_is_what_its_maker_published_but_for_what_is_told(name: str, digest: str) -> None:
    found = asset(name)
    assert found is not None
    published = found.data
    for ours, theirs in CHANGES:
        assert published.count(ours) == 1
        published = published.replace(ours, theirs)
    assert hashlib.sha256(published).hexdigest() == digest


def test_a_name_is_no_path() -> None:
    for name in ("", "../assets.py", "vendor/../index.html", "/etc/passwd", "LICENSES.txt"):
        assert asset(name) is None


def test_no_script_stands_in_the_page() -> None:
    assert re.findall(r"<script(?![^>]*src=)", text_of(PAGE)) == []
    assert re.findall(r"\son\w+=|style=", text_of(PAGE)) == []
    assert "unsafe" not in POLICY


def test_licences_are_beside_the_libraries() -> None:
    import mockbroker.admin.console

    folder = Path(mockbroker.admin.console.__path__[0]) / "static" / "vendor"
    text = (folder / "LICENSES.txt").read_text("utf-8")
    assert "Apache License" in text
    assert "MIT License" in text
