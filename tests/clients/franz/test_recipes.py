"""The recipe of docs/security.md for franz-go, built and run as it stands there."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.clients.recipes import Recipes

pytestmark = [pytest.mark.go, pytest.mark.timeout(300)]

HERE = Path(__file__).resolve().parent
# Where scripts/test puts a Go, if this machine has none that will do.
OWN_GO = HERE.parents[2] / ".tools" / "golang" / "go" / "bin" / "go"


def test_it_writes_a_record(recipes: Recipes, tmp_path: Path) -> None:
    go = str(OWN_GO) if OWN_GO.exists() else shutil.which("go")
    assert go, "scripts/test go installs what is missing"
    for name in ("go.mod", "go.sum"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "main.go").write_text(recipes.text("franz-go"))
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}
    subprocess.run(
        [go, "build", "-buildvcs=false", "-o", "recipe", "."],
        cwd=tmp_path,
        env=environment,
        check=True,
    )
    recipes.run(str(tmp_path / "recipe"), client="franz-go")
