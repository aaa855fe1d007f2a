"""The built wheel: what is in it, and that it lives beside the Kafka clients (ADR 2)."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.metadata import files
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = {"aiokafka": "aiokafka", "kafka-python": "kafka", "confluent-kafka": "confluent_kafka"}
# Installed by the tier of the pipeline alone.
SPARK = {"pyspark": "pyspark.sql", "py4j": "py4j.java_gateway"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


def test_it_holds_both_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "mockbroker",
        "mockbroker_protocol",
    }
    assert {"mockbroker/py.typed", "mockbroker_protocol/py.typed"} <= set(names)
    examples = "mockbroker/examples/"
    assert f"{examples}languages/go/orders_test.go" in names
    files = [name.rpartition("/")[2] for name in names if not name.startswith(examples)]
    assert not [file for file in files if file.startswith("test_") or file == "conftest.py"]
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.parametrize(
    "neighbour", [*CLIENTS, *(pytest.param(name, marks=pytest.mark.spark) for name in SPARK)]
)
def test_no_file_of_it_is_also_a_neighbours(wheel: Path, neighbour: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        ours = set(archive.namelist())
    theirs = {str(path) for path in files(neighbour) or ()}
    assert theirs
    assert not ours & theirs
    assert not {"mockbroker", "mockbroker_protocol"} & {path.partition("/")[0] for path in theirs}


@pytest.mark.parametrize(
    "neighbours", [CLIENTS, pytest.param({**CLIENTS, **SPARK}, marks=pytest.mark.spark)]
)
def test_installed_it_runs_and_they_import_beside_it(
    wheel: Path, tmp_path: Path, neighbours: dict[str, str]
) -> None:
    target = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    imports = ", ".join(neighbours.values())
    code = (
        f"import mockbroker, mockbroker_protocol, {imports}\n"
        "assert mockbroker.__file__.startswith(sys.argv[1]), mockbroker.__file__\n"
        "assert mockbroker_protocol.__file__.startswith(sys.argv[1])\n"
        "with mockbroker.MockBroker() as broker: print(broker.bootstrap_servers)\n"
        "print(mockbroker.__version__)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "import sys\n" + code, str(target)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    address, version = done.stdout.split()
    assert address.startswith("127.0.0.1:")
    assert version in wheel.name


def test_a_users_own_modules_may_have_any_other_name(wheel: Path, tmp_path: Path) -> None:
    target, project = tmp_path / "site", tmp_path / "project"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    for name in ("protocol.py", "state.py", "scripts/__init__.py", "tests/__init__.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("theirs = True\n", encoding="utf-8")
    (project / "tests" / "test_service.py").write_text(
        "import protocol, scripts, state\n"
        "def test_it(mockbroker):\n"
        "    mockbroker.topic('t').put('v')\n"
        "    assert mockbroker.topic('t').wait_for(1)[0].value == b'v'\n"
        "    assert protocol.theirs and scripts.theirs and state.theirs\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": f"{project}:{target}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
