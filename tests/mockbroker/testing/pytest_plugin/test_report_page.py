"""A failed test leaves the console on its broker as one file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mockbroker import MockBroker
from mockbroker.testing.pytest_plugin.report_page import lacks, write
from tests.mockbroker.testing.pytest_plugin.test_plugin import go, run

if TYPE_CHECKING:
    import pytest

__all__ = ("run",)
pytest_plugins = ["pytester"]


def data_of(path: str) -> dict[str, Any]:
    text = Path(path).read_text("utf-8")
    (data,) = re.findall(r'type="application/json">(.*?)</script>', text, re.DOTALL)
    found: dict[str, Any] = json.loads(data)
    return found


def test_the_report_of_a_failed_test_names_the_file(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        def test_fails(mockbroker):
            mockbroker.topic("orders").put("<b>paid</b>")
            assert mockbroker.topics() == []

        def test_passes(mockbroker):
            assert mockbroker.topics() == []
        """
    )
    result = go(run, "--mockbroker-report=pages")
    result.stdout.fnmatch_lines(["*mockbroker console*", "pages/*test_fails.html"])
    (file,) = (run.path / "pages").iterdir()
    found = data_of(str(file))
    assert "assert ['orders'] == []" in found["facts"]["failure"]
    records = found["answers"]["/v1/topics/orders/records?partition=0"]["records"]
    assert [one["value"] for one in records] == ["<b>paid</b>"]


def test_the_file_has_what_the_test_printed_and_what_its_rules_lack(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        def test_fails(mockbroker):
            print("to the till")
            mockbroker.faults.add({"api": "Fetch", "delay_ms": 5})
            assert mockbroker.topics() == ["orders"]
        """
    )
    go(run, "--mockbroker-report=pages")
    (file,) = (run.path / "pages").iterdir()
    sections = {one["title"]: one["text"] for one in data_of(str(file))["facts"]["sections"]}
    assert sections["Captured stdout call"] == "to the till\n"
    assert "never fired" in sections["mockbroker"]
    assert len(sections) == 2


def test_a_fixture_that_fails_behind_the_broker_leaves_a_file_too(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import pytest

        @pytest.fixture
        def service(mockbroker):
            mockbroker.topic("orders").put("paid")
            raise OSError("the service does not start")

        def test_it(service):
            pass
        """
    )
    go(run, "--mockbroker-report=pages")
    (file,) = (run.path / "pages").iterdir()
    assert "the service does not start" in data_of(str(file))["facts"]["failure"]


def test_a_broker_elsewhere_is_asked_over_its_admin_api(tmp_path: Path) -> None:
    with MockBroker(admin_port=0, topics={"orders": 1}) as broker:
        url = broker.admin_url
        assert url is not None
        remote = MockBroker.connect(url)
        first = write(str(tmp_path), remote, "tests/test_a.py::test_x[a/b]", "why")
        second = write(str(tmp_path), remote, "tests/test_a.py::test_x[a/b]", "why")
    assert first is not None
    assert second is not None
    assert first.endswith("tests-test_a.py-test_x[a-b].html")
    assert second.endswith("-2.html")
    assert data_of(first)["answers"]["/v1/topics"]["topics"][0]["name"] == "orders"


def test_nothing_is_lacking_here() -> None:
    assert lacks() is None
