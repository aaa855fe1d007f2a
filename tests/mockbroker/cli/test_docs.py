"""`mockbroker docs`: the site is made without a warning, and served."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

import mockbroker
from mockbroker.cli import docs
from mockbroker.cli.errors import CommandError
from mockbroker.cli.main import main

# The site takes some ten seconds of a processor, of which the machine may have few.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a user makes it, in a process of its own: what Sphinx warns of itself is no error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mockbroker", "docs", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_every_page_is_in_the_site(site: Path) -> None:
    made = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}
    written = {
        path.relative_to(docs.pages()).with_suffix("") for path in docs.pages().rglob("*.md")
    }
    assert made >= written


def test_the_reference_has_what_the_package_exports(site: Path) -> None:
    text = (site / "reference.html").read_text("utf-8")
    names = set(mockbroker.__all__) - {"__version__", "Delay"}
    assert [name for name in sorted(names) if f">{name}<" not in text] == []


def test_the_reference_has_each_view(site: Path) -> None:
    text = (site / "reference.html").read_text("utf-8")
    broker = Path(mockbroker.__file__).parent / "testing" / "broker_views.py"
    views = set(re.findall(r"\) -> (\w+View)\b", broker.read_text("utf-8")))
    assert len(views) >= 8
    assert [name for name in sorted(views) if f">{name}<" not in text] == []


def test_it_needs_no_network_to_be_read(site: Path) -> None:
    loaded = ('<script src="http', '<script src="//', 'stylesheet" href="http', '<img src="http')
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert [one for one in loaded if one in text] == [], page


def test_it_is_served_on_loopback(site: Path) -> None:
    with docs.make_server(str(site), 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://{docs.HOST}:{server.server_address[1]}/cookbook.html"
        with urllib.request.urlopen(address, timeout=10) as answer:
            assert b"My producer loses order" in answer.read()
        server.shutdown()
        thread.join()


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind((docs.HOST, 0))
        taken.listen()
        with pytest.raises(CommandError, match=r"--port .*: cannot listen there"):
            docs.make_server(".", taken.getsockname()[1])


def test_it_is_made_into_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[Path] = []
    monkeypatch.setattr(docs, "make_site", made.append)
    assert main(["docs", "--out", str(tmp_path / "site")]) == 0
    assert made == [tmp_path / "site"]
    assert capsys.readouterr().out == f"{tmp_path / 'site' / 'index.html'}\n"


def test_the_examples_are_copied_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "examples"
    assert main(["docs", "--examples", str(target)]) == 0
    assert (target / "languages" / "go" / "orders_test.go").is_file()
    assert list(target.rglob("__pycache__")) == []
    assert main(["docs", "--examples", str(target)]) == 2
    assert capsys.readouterr().err == f"mockbroker: --examples {target}: File exists\n"


def test_without_sphinx_the_extra_and_the_pages_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sphinx.cmd.build", None)
    with pytest.raises(CommandError, match=r"pip install 'mockbroker\[docs\]'; or read .*docs"):
        docs.make_site(tmp_path)


def test_without_pages_that_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mockbroker, "__file__", str(tmp_path / "mockbroker" / "__init__.py"))
    with pytest.raises(CommandError, match="this installation has no pages"):
        docs.pages()
