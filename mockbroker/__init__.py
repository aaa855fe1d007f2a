"""mockbroker: a fake Kafka broker that clients cannot tell from a real one.

`MockBroker` is the Python API (`with MockBroker(topics={"orders": 6}) as broker: …`);
`python -m mockbroker serve` is the command. Importing the package imports neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.testing.mock_broker import MockBroker

    __version__: str

__all__ = ["MockBroker", "__version__"]


def __getattr__(name: str) -> object:
    if name == "MockBroker":
        from mockbroker.testing.mock_broker import MockBroker

        return MockBroker
    if name == "__version__":
        return _version()
    message = f"module 'mockbroker' has no attribute {name!r}"
    raise AttributeError(message)


def _version() -> str:
    """The installed version, or that of the checkout that the package is run from."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("mockbroker")
    except PackageNotFoundError:
        import tomllib
        from pathlib import Path

        project = Path(__file__).parent.parent / "pyproject.toml"
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])
