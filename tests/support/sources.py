"""Where a process that a test starts finds the code that the test runs on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[2]
PYTHONPATH: Final = os.pathsep.join((str(_ROOT), str(_ROOT / "protocol")))
"""Both packages: the compiled broker beside the interpreted protocol does not run."""
