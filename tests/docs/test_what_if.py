"""The worked example of docs/what-if.md runs as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "what-if.md"


@pytest.mark.clients
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated")  # by kafka-python
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_worked_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("plotly")
    pytest.importorskip("kafka")
    from mockbroker.pipeline.command import run

    text = PAGE.read_text("utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (command,) = re.findall(r"```\nmockbroker pipeline (what-if .*?)\n```", text)
    monkeypatch.chdir(tmp_path)
    exec(compile(program, str(PAGE), "exec"), {})
    assert run([*command.split(), "--engine=embedded", "--workers=1", "--json"]) == 0
    changes = {row["figure"]: row for row in json.loads(capsys.readouterr().out)["changes"]}
    assert changes["polls"]["recorded"] == pytest.approx(changes["polls"]["as_it_was"], rel=0.1)
    assert changes["overhead_bytes"]["change_percent"] > 100
    assert changes["looked_at"]["change_percent"] > 100
    assert (tmp_path / "what-if" / "report.html").is_file()
