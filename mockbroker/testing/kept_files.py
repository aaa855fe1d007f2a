"""Files that clients are given: they stay for as long as this process, whoever made them is gone.

A client may read them long after it was configured. A process that was forked leaves them be.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from pathlib import Path

__tracebackhide__ = True


def kept_folder(prefix: str) -> Path:
    """A new folder, for this user alone, that goes when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(_remove, folder, os.getpid())
    return folder


def write_kept(file: Path, text: str) -> None:
    """Write a file for this user alone; clients that others start read all of it meanwhile."""
    draft = file.with_name(f"{file.name}.{threading.get_ident()}.tmp")
    draft.touch(0o600)
    draft.write_text(text, "utf-8")
    draft.replace(file)


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
