"""The broker that the clients of this tier connect to: a server process, or one that runs.

MOCKBROKER_TEST_BOOTSTRAP=HOST:PORT points the tier at a broker that is there already, such as an
Apache Kafka: what a client test demands must hold there too. With MOCKBROKER_TEST_SECURITY they log
in, see `login`.
"""

from __future__ import annotations

import gc
import os
import uuid
import warnings
from typing import TYPE_CHECKING

import pytest

from tests.clients import login
from tests.clients.recipes import Recipes, serving_recipes
from tests.clients.secured import SECURITIES, Secured, serving_secured
from tests.clients.server import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.testing.remote.broker import RemoteBroker


if login.SECURITY:
    login.let_clients_log_in()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With MOCKBROKER_TEST_SECURITY those tests alone that it means: see `login`."""
    if login.SECURITY:
        kept = [item for item in items if login.wants_login(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def pytest_itemcollected(item: pytest.Item) -> None:
    """Clients leave sockets to the collector, which finds them in whatever test runs then."""
    item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(autouse=True, scope="module")
def no_litter() -> Iterator[None]:
    """What a module's clients left behind is gone before the next module begins."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="session")
def server_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The bootstrap address of a broker in a process of its own."""
    running = os.environ.get("MOCKBROKER_TEST_BOOTSTRAP")
    if running:
        yield running
        return
    with serving(tmp_path_factory.mktemp("server")) as bootstrap:
        yield bootstrap


@pytest.fixture
def topic() -> str:
    """A name that no other test uses, in this run or another against the same broker."""
    return f"orders-{uuid.uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def secured_process() -> Iterator[RemoteBroker]:
    """A broker that lets in only who is known."""
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    with serving_secured() as broker:
        yield broker


@pytest.fixture(params=SECURITIES)
def secured(request: pytest.FixtureRequest, secured_process: RemoteBroker) -> Secured:
    """One listener of it, and another in the next test."""
    return Secured(secured_process, request.param)


@pytest.fixture(scope="session")
def recipes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recipes]:
    """Those of docs/security.md, with the broker that they are for."""
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    with serving_recipes(tmp_path_factory.mktemp("recipes")) as found:
        yield found
