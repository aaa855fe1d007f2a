"""What pytest loads: options, markers, fixtures, and the journal's tail in a failing test's report.

The entry point `pytest11` names this module, so every pytest run in an environment that has
mockbroker imports it: nothing heavier than pytest itself is imported before a fixture is used.

Where a broker comes from, the first that is given: `--mockbroker=…`, the variable
MOCKBROKER_BOOTSTRAP or the ini option mockbroker_bootstrap, which `servers` reads; else one for the
session, in its own thread and on a free port. The arguments of the marker `mockbroker` make one of
the test's own. With xdist each worker is a session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from mockbroker.state.verdict import Verdict
    from mockbroker.testing.aio import AsyncBroker
    from mockbroker.testing.broker_views import BrokerViews
    from mockbroker.testing.kafka.broker import Kafka
    from mockbroker.testing.mock_broker import MockBroker
    from mockbroker.testing.pytest_plugin.clients import Clients
    from mockbroker.testing.remote.broker import RemoteBroker

__tracebackhide__ = True

_RESTART = pytest.StashKey["Callable[[], object] | None"]()
_BROKERS = pytest.StashKey[list["BrokerViews"]]()
_ASYNCIO_PLUGINS = ("asyncio", "pytest_asyncio.plugin")
MARKERS = (
    "mockbroker(**arguments): a broker of the test's own, with these arguments of MockBroker",
    "mockbroker_client(**arguments): how clients of fixtures connect, as client_config has it",
    "mockbroker_needs(*words): what of the fake it needs, such as clock; skipped where it is not",
    "mockbroker_topics(*names, **partitions): create these topics before the test",
    "mockbroker_faults(*faults): add these faults before the test; each must fire, or be `maybe`",
    "mockbroker_strict(strict=True): whether a request that the broker refuses fails the test",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--mockbroker` and the ini options."""
    group = parser.getgroup("mockbroker")
    group.addoption(
        "--mockbroker",
        metavar="WHERE",
        help="in-process (default), process, container[:IMAGE], http://HOST:PORT (an admin API) or"
        " kafka://HOST:PORT (any Kafka cluster) [MOCKBROKER_BOOTSTRAP]",
    )
    group.addoption(
        "--mockbroker-report",
        metavar="DIR",
        help="write the console on the broker of each test that fails into DIR, as one HTML file",
    )
    parser.addini("mockbroker_bootstrap", "what --mockbroker says", default="")
    parser.addini(
        "mockbroker_topics",
        "NAME or NAME:PARTITIONS, one a line: topics of the session's server",
        type="linelist",
    )
    parser.addini(
        "mockbroker_config",
        "KEY=VALUE, one a line: broker configs of the session's server",
        type="linelist",
    )
    parser.addini(
        "mockbroker_strict",
        "a request that the broker refuses fails the test which sent it",
        type="bool",
        default=False,
    )
    parser.addini(
        "mockbroker_keep_server",
        "keep the session's server even when a test left what cannot be taken back",
        type="bool",
        default=False,
    )
    parser.addini(
        "mockbroker_journal_lines",
        "requests shown in the report of a failing test, 0 for none",
        default="20",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known, and the fixtures of aiokafka where coroutines can be fixtures."""
    if config.getoption("--mockbroker-report", None) and _where(config) in ("", "in-process"):
        from mockbroker.testing.pytest_plugin.report_page import lacks

        missing = lacks()
        if missing is not None:
            message = f"--mockbroker-report: {missing} not found; install mockbroker[admin]"
            raise pytest.UsageError(message)
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    if any(map(config.pluginmanager.hasplugin, _ASYNCIO_PLUGINS)):
        name = "mockbroker.testing.pytest_plugin.aiokafka_fixtures"
        if not config.pluginmanager.hasplugin(name):
            config.pluginmanager.import_plugin(name)
    else:
        config.pluginmanager.register(_WithoutAsyncio(), "mockbroker-without-asyncio")


def _without_asyncio(fixture: str) -> None:
    pytest.fail(f"{fixture} needs pytest-asyncio: pip install pytest-asyncio", pytrace=False)


class _WithoutAsyncio:
    """The fixtures of aiokafka where no plugin runs coroutines: each says what it lacks."""

    @pytest.fixture
    def aiokafka_producer(self) -> None:
        _without_asyncio("aiokafka_producer")

    @pytest.fixture
    def aiokafka_consumer(self) -> None:
        _without_asyncio("aiokafka_consumer")

    @pytest.fixture
    def aiokafka_admin(self) -> None:
        _without_asyncio("aiokafka_admin")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test whose fault rules never fired, or whose requests a strict broker refused."""
    result = yield
    verdicts = _verdicts(item)
    if verdicts:
        from mockbroker.state.verdict import merged

        merged(verdicts).check()
    return result


def _verdicts(item: pytest.Item) -> list[Verdict]:
    """What its brokers find wrong with a test; what is told here is told once."""
    marker = item.get_closest_marker("mockbroker_strict")
    strict = None if marker is None else bool(marker.kwargs.get("strict", (*marker.args, True)[0]))
    found = []
    for broker in item.stash.get(_BROKERS, []):
        try:
            found.append(broker.verdict(strict=strict))
        except RuntimeError:  # it has stopped
            continue
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, pytest.TestReport]:
    """Show what the broker knows when the test failed."""
    report: pytest.TestReport = yield
    brokers = item.stash.get(_BROKERS, [])
    if not report.passed and report.when != "teardown":
        for verdict in _verdicts(item):
            if report.failed and not verdict.is_clean:
                report.sections.append(("mockbroker", str(verdict)))
    told = list(report.sections)
    lines = int(item.config.getini("mockbroker_journal_lines")) if brokers else 0
    if report.failed and lines:
        for broker in brokers:
            text = _text(broker, lines)
            if text:
                report.sections.append((f"mockbroker {broker.bootstrap_servers}", text))
    folder = item.config.getoption("--mockbroker-report", None)
    if report.failed and folder and report.when != "teardown":
        for broker in brokers:
            report.sections += _report_page(folder, broker, report, told)
    return report


def _report_page(
    folder: str, broker: BrokerViews, report: pytest.TestReport, told: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Write the console on that broker; the section of the report that names the file."""
    from mockbroker.testing.pytest_plugin.report_page import write

    try:
        path = write(folder, broker, report.nodeid, report.longreprtext, told)
    except (RuntimeError, OSError) as error:  # it has stopped; the disk is full
        return [("mockbroker console", f"--mockbroker-report: not written: {error}")]
    return [] if path is None else [("mockbroker console", path)]


def _text(broker: BrokerViews, lines: int) -> str:
    try:
        return broker.report(lines)
    except RuntimeError:  # it has stopped
        return ""


# -- servers --------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs what its broker has not."""
    where = _where(item.config)
    if where:
        from mockbroker.testing.pytest_plugin.servers import check_needs

        check_needs(item, where)


@pytest.fixture(scope="session")
def mockbroker_server(pytestconfig: pytest.Config) -> Iterator[BrokerViews]:
    """The session's server; a test rather asks for `mockbroker`, which cleans up behind it."""
    from mockbroker.server.values import parse_configs
    from mockbroker.testing.pytest_plugin.servers import opened

    where = _where(pytestconfig)
    config = parse_configs("mockbroker_config", pytestconfig.getini("mockbroker_config"))
    options = {"config": config, "strict": pytestconfig.getini("mockbroker_strict")}
    with opened(where, options) as server:
        pytestconfig.stash[_RESTART] = server.restart
        _create_topics(server.broker, pytestconfig)
        yield server.broker


def _create_topics(broker: BrokerViews, config: pytest.Config) -> None:
    """Make those of the ini option."""
    from mockbroker.server.values import parse_topic
    from mockbroker.testing.pytest_plugin.servers import lacks

    for line in config.getini("mockbroker_topics"):
        name, partitions = parse_topic("mockbroker_topics", line)
        if "own_broker" not in lacks(_where(config)) or not broker.topic(name).exists:
            broker.topic(name).create(partitions)


def _replace_if_left_over(server: BrokerViews, config: pytest.Config) -> None:
    """Go on with a new broker where the end of a test could not take back all."""
    restart = None if config.getini("mockbroker_keep_server") else config.stash.get(_RESTART, None)
    if restart is not None and server.left_over:
        restart()
        _create_topics(server, config)


@pytest.fixture
def mockbroker(request: pytest.FixtureRequest) -> Iterator[BrokerViews]:
    """A broker for this test: what the test makes in it is gone afterwards."""
    from mockbroker.testing.pytest_plugin.servers import is_shared, lacks, opened

    where = _where(request.config)
    arguments = _marked_arguments(request.node)
    if arguments is not None:
        with opened(where, arguments) as own:
            yield _prepared(request.node, own.broker)
        return
    server = request.getfixturevalue("mockbroker_server")
    if "faults" in lacks(where):  # it is not this test's alone, or no fake
        prefix = request.getfixturevalue("mockbroker_prefix") if is_shared(where) else None
        with server.scope(prefix):
            yield _with_topics(request.node, server)
        return
    try:
        with server.scope():
            server.verdict()  # what came between two tests is nobody's
            yield _prepared(request.node, server)
    finally:
        _replace_if_left_over(server, request.config)


@pytest.fixture
def mockbroker_prefix(request: pytest.FixtureRequest) -> str:
    """Names of topics and groups that begin so are this test's, wherever its broker runs."""
    from mockbroker.testing.pytest_plugin.servers import prefix_of

    return prefix_of(request.node)


@pytest.fixture
def mockbroker_factory(
    request: pytest.FixtureRequest,
) -> Iterator[Callable[..., MockBroker]]:
    """Starts brokers, each with its own arguments of MockBroker; they stop with the test."""
    from contextlib import ExitStack

    from mockbroker.testing.mock_broker import MockBroker

    with ExitStack() as stack:

        def make(**arguments: Any) -> MockBroker:
            broker = stack.enter_context(MockBroker(**arguments))
            request.node.stash.setdefault(_BROKERS, []).append(broker)
            return broker

        yield make


@pytest.fixture
def mockbroker_aio(mockbroker: MockBroker | RemoteBroker | Kafka) -> AsyncBroker:
    """The views of `mockbroker` for coroutines, in whichever loop the test runs."""
    return mockbroker.aio


def _where(config: pytest.Config) -> str:
    import os

    return str(
        config.getoption("--mockbroker", None)
        or os.environ.get("MOCKBROKER_BOOTSTRAP")
        or config.getini("mockbroker_bootstrap")
        or ""
    )


def _marked_arguments(item: pytest.Item) -> dict[str, Any] | None:
    """The arguments of all `mockbroker` markers; None when none has any."""
    return _keywords(item, "mockbroker") or None


def _keywords(item: pytest.Item, name: str) -> dict[str, Any]:
    """The arguments of all markers of that name, the closest first."""
    arguments: dict[str, Any] = {}
    for marker in item.iter_markers(name):
        if marker.args:
            message = f"marker {name} takes keywords only, not {marker.args!r}"
            raise pytest.UsageError(message)
        arguments = {**marker.kwargs, **arguments}
    return arguments


def _prepared(item: pytest.Item, broker: BrokerViews) -> BrokerViews:
    """The broker with the topics and faults of the markers; its journal is shown on failure."""
    item.stash.setdefault(_BROKERS, []).append(broker)
    _with_topics(item, broker)
    for marker in item.iter_markers("mockbroker_faults"):
        for fault in marker.args:
            broker.faults.add(fault)
    return broker


def _with_topics(item: pytest.Item, broker: BrokerViews) -> BrokerViews:
    for marker in item.iter_markers("mockbroker_topics"):
        topics = dict.fromkeys(one for one in marker.args if isinstance(one, str))
        for one in marker.args:
            if not isinstance(one, str):
                topics.update(one)
        topics.update(marker.kwargs)
        for name, partitions in topics.items():
            broker.topic(name).create(partitions)
    return broker


# -- clients --------------------------------------------------------------------------------


@pytest.fixture
def mockbroker_clients(
    request: pytest.FixtureRequest, mockbroker: MockBroker | RemoteBroker | Kafka
) -> Iterator[Clients]:
    """Makes producers, consumers and admin clients, which are closed with the test."""
    from functools import partial

    from mockbroker.testing.pytest_plugin.clients import Clients

    arguments = _keywords(request.node, "mockbroker_client")
    with Clients(partial(mockbroker.client_config, **arguments)) as clients:
        yield clients


@pytest.fixture
def kafka_producer(mockbroker_clients: Clients) -> Any:
    """A producer of kafka-python."""
    return mockbroker_clients.kafka_producer()


@pytest.fixture
def kafka_consumer(mockbroker_clients: Clients) -> Callable[..., Any]:
    """`kafka_consumer("orders", group_id="g")`: a consumer of kafka-python with its partitions."""
    return mockbroker_clients.kafka_consumer


@pytest.fixture
def kafka_admin(mockbroker_clients: Clients) -> Any:
    """An admin client of kafka-python."""
    return mockbroker_clients.kafka_admin()


@pytest.fixture
def confluent_producer(mockbroker_clients: Clients) -> Any:
    """A producer of confluent-kafka."""
    return mockbroker_clients.confluent_producer()


@pytest.fixture
def confluent_consumer(mockbroker_clients: Clients) -> Callable[..., Any]:
    """`confluent_consumer("orders", group_id="g")`: a consumer of confluent-kafka, assigned."""
    return mockbroker_clients.confluent_consumer


@pytest.fixture
def confluent_admin(mockbroker_clients: Clients) -> Any:
    """An admin client of confluent-kafka."""
    return mockbroker_clients.confluent_admin()
