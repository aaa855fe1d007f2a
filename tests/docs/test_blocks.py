"""Each block of Python in a page runs, here or in the test that is named; each command is known.

A block of a page that is listed here runs with the names that its reader would have: services,
clients, a broker.
"""

from __future__ import annotations

import re
import shlex
import threading
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Self

import pytest
from confluent_kafka import Consumer, Producer

from mockbroker import Fault, MockBroker
from mockbroker.cli.main import _build_parser
from mockbroker.cli.parser import with_verb
from mockbroker.pipeline.command import build_parser
from tests.clients import recipes
from tests.clients.server import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.clients

RUN_ELSEWHERE: Final = {
    "aiokafka": "clients/test_cookbook.py",
    "backends": "docs/test_backends.py",
    "cluster": "docs/test_cluster.py",
    "confluent-kafka": "clients/test_cookbook.py",
    "cookbook": "clients/test_cookbook.py",
    "cooperative-consumption": "docs/test_cooperative_consumption.py",
    "kafka-python": "clients/test_cookbook.py",
    "quick-start": "clients/test_cookbook.py",
    "suites": "examples/test_suites.py",
    "what-if": "docs/test_what_if.py",
}
NOT_RUN: Final = {
    "containers": "it needs an engine for containers: a process stands for it in other tests",
    "migration": "what is to be replaced is another library's; the rest runs with the cookbook",
    "pipeline": "it needs Spark: the tier `spark` runs a notebook",
}
HERE: Final = ("README", "faults", "journal", "time", "python-api", "security", "pytest")


def text_of(page: str) -> str:
    folder = ROOT if page == "README" else ROOT / "docs"
    return (folder / f"{page}.md").read_text("utf-8")


def blocks(page: str) -> list[str]:
    text = text_of(page)
    if page == "security":  # those of clients/test_recipes.py are for a broker of their own
        before, title, section = text.partition(recipes.TITLE)
        text = before + "".join(section.partition("\n## ")[1:])
        assert title
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


PAGES: Final = ["README", *sorted(path.stem for path in (ROOT / "docs").glob("*.md"))]
CASES: Final = [(page, place) for page in HERE for place in range(len(blocks(page)))]


def test_each_page_with_python_is_run_or_says_why_not() -> None:
    known = {*RUN_ELSEWHERE, *NOT_RUN, *HERE}
    assert {page for page in PAGES if blocks(page)} == known
    for page, module in RUN_ELSEWHERE.items():
        assert page in (ROOT / "tests" / module).read_text("utf-8")


class Service:
    """Confirms one order, as the service of a reader would."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.servers = {"bootstrap.servers": bootstrap_servers}

    def run_once(self) -> None:
        group = {"group.id": "billing", "auto.offset.reset": "earliest"}
        consumer = Consumer(self.servers | group | {"enable.auto.commit": False})
        consumer.subscribe(["orders"])
        order = consumer.poll(30)
        assert order is not None
        producer = Producer(self.servers)
        producer.produce("confirmations", order.value(), order.key())
        producer.flush(30)
        consumer.commit(message=order, asynchronous=False)
        consumer.close()


@contextmanager
def a_broker() -> Iterator[MockBroker]:
    """After a service, with a transaction that has ended."""
    with MockBroker(topics={"orders": 1}) as broker:
        broker.topic("orders").put("paid", key="7")
        Service(broker.bootstrap_servers).run_once()
        payments = Producer(
            {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "payments-1"}
        )
        payments.init_transactions(30)
        payments.begin_transaction()
        payments.produce("orders", "paid")
        payments.commit_transaction(30)
        yield broker


class WithClients(MockBroker):
    """A broker of docs/faults.md: a producer and a consumer come with it."""

    def start(self) -> Self:
        super().start()
        servers = {"bootstrap.servers": self.bootstrap_servers}
        self.reader = Consumer(servers | {"client.id": "billing-1", "group.id": "billing"})
        self.reader.subscribe(["orders"])
        self.writer = Producer(servers)
        self.writer.produce("orders", "paid")
        self.stopped = threading.Event()
        self.polls = threading.Thread(target=self._poll)
        self.polls.start()
        return self

    def _poll(self) -> None:
        while not self.stopped.is_set():
            self.reader.poll(0.05)
            self.writer.poll(0)

    def stop(self) -> None:
        self.stopped.set()
        self.polls.join()
        self.reader.close()
        super().stop()


@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("page", "place"), CASES)
def test_it_runs(page: str, place: int, capsys: pytest.CaptureFixture[str]) -> None:
    from kafka import KafkaProducer

    code = blocks(page)[place]
    names: dict[str, Any] = {
        "__name__": "snippet", "Fault": Fault, "KafkaProducer": KafkaProducer, "pytest": pytest,
        "MockBroker": MockBroker, "Producer": Producer, "Service": Service, "my_service": Service,
        "run_the_service": lambda servers: Service(servers).run_once(), "timedelta": timedelta,
    }  # fmt: skip
    code = re.sub(r"^@pytest.mark.*\n", "", code, flags=re.MULTILINE)
    if page == "faults" and "with MockBroker" in code:
        code = code.replace("import Fault, MockBroker", "import Fault").strip()
        names["MockBroker"] = WithClients
    if page == "python-api" and '("orders", 3)' in code:
        code = code.replace('("orders", 3)', '("orders", where)')
        names["where"] = 3
    run(code, names)


@contextmanager
def a_listener_with_tls() -> Iterator[MockBroker]:
    """Without clients: rules that never fire are not told where nothing verifies them."""
    broker = MockBroker(tls="auto", listeners=["SSL://:0"]).start()
    yield broker
    broker.stop()


def run(code: str, names: dict[str, Any]) -> None:
    with a_listener_with_tls() if "SSL" in code else a_broker() as broker:
        exec(compile(code, "page", "exec"), names | {"broker": broker})
    for test in re.findall(r"^def (test_\w+)\(", code, re.MULTILINE):
        exec(code, names)
        wanted = names[test].__code__
        with MockBroker(topics=["orders"]) as fresh:
            names[test](**dict.fromkeys(wanted.co_varnames[: wanted.co_argcount], fresh))


def test_each_marker_is_known_and_told() -> None:
    # Imported late: pytest wants to be the first that loads its plugin.
    from mockbroker.testing.pytest_plugin.plugin import MARKERS

    shown = set(re.findall(r"^@pytest.mark.(mockbroker\w*)", text_of("pytest"), re.MULTILINE))
    assert shown == {re.split(r"\W", line)[0] for line in MARKERS}


COMMANDS: Final = [
    (page, line.strip())
    for page in PAGES
    for block in re.findall(
        r"^```(?:sh|yaml|)\n(.*?)^```$|^((?:    .*\n)+)", text_of(page), re.DOTALL | re.MULTILINE
    )
    for line in "".join(block).replace("\\\n", " ").splitlines()
    if re.match(r"\s*(\$ )?mockbroker [a-z]", line) and "…" not in line
]


def test_each_command_is_known() -> None:
    parsers = {True: build_parser(), False: _build_parser(with_commands=True)}
    assert len(COMMANDS) > 30
    for page, line in COMMANDS:
        words = shlex.split(line.removeprefix("$ ").removesuffix("&"), comments=True)[1:]
        words = with_verb(words) if words[0] == "journal" else words
        pipeline = words[0] == "pipeline"
        _, unknown = parsers[pipeline].parse_known_args(words[pipeline:])
        assert unknown == [], f"{page}: {line}"
