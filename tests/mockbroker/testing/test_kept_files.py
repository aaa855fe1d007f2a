"""A folder is there until the process that made it ends, and its children leave it be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys
from mockbroker.testing.kept_files import kept_folder

folder = kept_folder("mockbroker-test-")
(folder / "file").touch()
child = os.fork()
if not child:
    sys.exit()
os.waitpid(child, 0)
assert (folder / "file").exists()
print(folder, oct(folder.stat().st_mode & 0o777))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be forked there")
def test_a_folder_goes_with_its_process() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    folder, mode = run.stdout.split()
    assert mode == "0o700"
    assert not Path(folder).exists()
