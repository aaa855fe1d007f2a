"""`mockbroker docs`: these pages as a site, by Sphinx (the extra `docs`), served on loopback.

The wheel has the pages and the examples beside the code, a clone has them at its top.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Final

import mockbroker
from mockbroker.cli.errors import CommandError
from mockbroker.server.streams import write_line

if TYPE_CHECKING:
    from argparse import Namespace

HOST: Final = "127.0.0.1"


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Who reads need not be told that pages are read."""


def run(given: Namespace) -> int:
    """Make the site, then serve it until interrupted; with --out or --examples only that."""
    if given.examples is not None:
        copy_examples(Path(given.examples))
        write_line(given.examples)
        return 0
    if given.out is not None:
        make_site(Path(given.out))
        write_line(f"{Path(given.out) / 'index.html'}")
        return 0
    with tempfile.TemporaryDirectory(prefix="mockbroker-docs-") as folder:
        make_site(Path(folder))
        with make_server(folder, given.port) as server:
            write_line(f"http://{HOST}:{server.server_address[1]}/ (Ctrl-C ends it)")
            server.serve_forever()
    return 0


def pages() -> Path:
    """The folder of the pages."""
    return _beside("docs", "conf.py", "pages")


def copy_examples(target: Path) -> None:
    """Copy the examples into a folder that is not there yet. Raises CommandError."""
    source = _beside("examples", "orders", "examples")
    try:
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    except OSError as error:
        raise CommandError(f"--examples {target}: {error.strerror or error}") from None


def _beside(name: str, mark: str, what: str) -> Path:
    package = Path(mockbroker.__file__).parent
    for folder in (package / name, package.parent / name):
        if (folder / mark).exists():
            return folder
    raise CommandError(f"docs: this installation has no {what}; the wheel and a clone have them")


def make_site(target: Path) -> None:
    """Build HTML into a folder. Raises CommandError."""
    source = pages()
    try:
        from sphinx.cmd.build import build_main
    except ModuleNotFoundError:
        message = "docs: the site is made by Sphinx: pip install 'mockbroker[docs]'; or read"
        raise CommandError(f"{message} {source}") from None
    with tempfile.TemporaryDirectory() as doctrees:
        options = ["--quiet", "--fail-on-warning", "--keep-going", "-d", doctrees]
        status = build_main([*options, str(source), str(target)])
    if status:
        raise CommandError(f"docs: Sphinx could not make {target} (status {status})")


def make_server(folder: str, port: int) -> ThreadingHTTPServer:
    """A server of the files in a folder, on loopback. Raises CommandError."""
    try:
        return ThreadingHTTPServer((HOST, port), partial(_Handler, directory=folder))
    except (OSError, OverflowError) as error:
        raise CommandError(f"--port {port}: cannot listen there ({error})") from None
