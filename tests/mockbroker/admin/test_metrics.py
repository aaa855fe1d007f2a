"""Metrics as Prometheus has them, and a dashboard that asks for nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mockbroker import MockBroker
from mockbroker.admin import metrics
from mockbroker.admin.metrics import COUNTER, FAMILIES, exposition
from mockbroker.faults import Fault
from mockbroker.node.tls_session import TlsSession
from mockbroker.state.groups import commit_offsets
from mockbroker.state.writing import NewRecord, put
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.group_membership import HeartbeatRequest
from mockbroker_protocol.messages.produce import ProduceResponse
from tests.support.core import Core
from tests.support.logins import logged_in, login_core
from tests.support.range_group import ON, RangeGroup, fill
from tests.support.requests import fetch, produce

DASHBOARD = Path(__file__).parents[3] / "docs" / "grafana" / "mockbroker.json"
SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)')
UNITS_OF_OTHERS = ("ms", "milliseconds", "kb", "kilobytes", "mb", "percent", "minutes", "hours")
SECURED = "mockbroker_principal_connections"
OF_HISTOGRAMS = ("_count", "_sum", "_bucket")


def values(core: Core) -> dict[str, float]:
    lines = exposition(core.cluster, "1.2").splitlines()
    return {
        f"{found[1]}{{{found[2] or ''}}}": float(found[3])
        for line in lines
        if not line.startswith("#") and (found := SAMPLE.fullmatch(line)) is not None
    }


@pytest.fixture
def core() -> Core:
    core = Core(topics={"orders": 2})
    client = core.client("app")
    client.call(produce("orders", index=1), 9, ProduceResponse)
    client.call(produce("orders", index=1), 9, ProduceResponse)
    client.call(fetch("orders", max_wait_ms=0), 11, FetchResponse)
    commit_offsets(core.cluster, "billing", {("orders", 1): 1})
    core.cluster.faults.add(Fault(api="Heartbeat", observe=True, id="eye"))
    core.cluster.faults.add(Fault(api="Heartbeat", park=True, id="hold"))
    client.send(HeartbeatRequest("g", 1, "m"), 4)
    return core


def test_what_was_moved_is_counted(core: Core) -> None:
    found = values(core)
    requests = list(core.cluster.journal.requests())
    produced = [one for one in requests if one.api_name == "Produce"]
    assert found['mockbroker_requests_total{broker="1",api="Produce"}'] == 2
    assert found['mockbroker_request_bytes_total{broker="1",api="Produce"}'] == sum(
        one.request_bytes for one in produced
    )
    assert found['mockbroker_response_bytes_total{broker="1",api="Produce"}'] == sum(
        one.response_bytes for one in produced
    )
    assert found['mockbroker_topic_messages_in_total{topic="orders"}'] == 2
    size = found['mockbroker_partition_size_bytes{topic="orders",partition="1"}']
    assert found['mockbroker_topic_bytes_in_total{topic="orders"}'] == size > 100
    assert found['mockbroker_topic_messages_out_total{topic="orders"}'] == 0
    assert found['mockbroker_partition_log_end_offset{topic="orders",partition="1"}'] == 2
    assert found['mockbroker_client_connections{broker="1",client_id="app"}'] == 1
    assert found['mockbroker_fetches_answered_total{broker="1",fetch_class="sessionless"}'] == 1


def test_records_out_are_those_from_the_offset_that_was_asked_for() -> None:
    core = Core(topics={"orders": 1})
    name = 'mockbroker_topic_messages_out_total{topic="orders"}'
    put(core.cluster, "orders", [NewRecord(b"v")] * 3)
    client = core.client("app")
    for offset, expected in ((0, 3), (2, 4), (3, 4)):
        client.call(fetch("orders", offset, max_wait_ms=0), 11, FetchResponse)
        assert values(core)[name] == expected
    size = values(core)['mockbroker_partition_size_bytes{topic="orders",partition="0"}']
    assert values(core)['mockbroker_topic_bytes_out_total{topic="orders"}'] == 2 * size > 100


def test_lag_and_hits_are_told(core: Core) -> None:
    found = values(core)
    labels = 'group="billing",topic="orders",partition="1"'
    assert found[f"mockbroker_group_lag_records{{{labels}}}"] == 1
    assert found['mockbroker_group_members{group="billing",state="Empty"}'] == 0
    assert found['mockbroker_fault_hits_total{fault="eye"}'] == 1
    assert found['mockbroker_fault_held_requests{fault="hold"}'] == 1
    assert found['mockbroker_fault_matches_total{fault="hold"}'] == 1


def test_an_answer_that_a_fault_mangles_counts_its_bytes(core: Core) -> None:
    core.cluster.faults.add(Fault(api="Produce", corrupt_at=-1))
    client = core.client("other")
    name = 'mockbroker_response_bytes_total{broker="1",api="Produce"}'
    before = values(core)[name]
    client.send(produce("orders"), 9)
    assert values(core)[name] > before


def test_the_extension_tells_what_it_counts() -> None:
    core = Core(topics={"t": 1}, config=ON)
    group = RangeGroup(core.client())
    fill(group.client, 10)
    group.commit((5, 6))
    found = values(core)
    assert found['mockbroker_individual_commit_ranges{broker="1"}'] == 1
    assert found['mockbroker_individual_commits_total{broker="1"}'] == 1
    assert found['mockbroker_filter_cache_bytes{broker="1"}'] == 0
    assert found['mockbroker_leases{broker="1"}'] == 0


def test_every_family_keeps_the_rules_of_promlint(core: Core) -> None:
    """Those of client_golang's promlint, which `promtool check metrics` runs."""
    text = exposition(core.cluster, "1.2").splitlines()
    for name, family in FAMILIES.items():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name), name
        assert (family.kind == COUNTER) == name.endswith("_total"), name
        assert not name.endswith(OF_HISTOGRAMS), name
        assert not set(name.split("_")) & {*UNITS_OF_OTHERS, "gauge", "counter"}, name
        assert not any(f"_by_{label}" in name for label in family.labels), name
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", label) for label in family.labels), name
        assert text.count(f"# HELP {name} {family.help}") == 1
        assert text.count(f"# TYPE {name} {family.kind}") == 1
    keys = [line.rpartition(" ")[0] for line in text if not line.startswith("#")]
    assert len(keys) == len(set(keys))
    assert all(SAMPLE.fullmatch(line) for line in text if not line.startswith("#"))


def test_labels_are_escaped_and_values_have_all_their_digits(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    (partition,) = [core.broker.services.replicas.partition("orders", 1)]
    assert partition is not None
    partition.messages_in = 12_345_678_901_234_567
    text = exposition(core.cluster, 'q"\\\n')
    assert 'mockbroker_build_info{version="q\\"\\\\\\n"} 1\n' in text
    assert 'mockbroker_topic_messages_in_total{topic="orders"} 12345678901234567\n' in text
    monkeypatch.setitem(metrics._OF_NODES, "mockbroker:type=T,name=N", "mockbroker_connections")
    monkeypatch.setattr(core.broker, "metrics", lambda: {"mockbroker:type=T,name=N": 0.123456789})
    assert 'mockbroker_connections{broker="1"} 0.123456789\n' in exposition(core.cluster, "1")


def test_series_are_bounded(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MAX_SERIES", 1)
    core.client("second").call(fetch("orders", max_wait_ms=0), 11, FetchResponse)
    found = values(core)
    assert sum(key.startswith("mockbroker_client_connections") for key in found) == 1
    assert sum(key.startswith("mockbroker_fault_hits") for key in found) == 1


def test_the_dashboard_asks_for_metrics_and_labels_that_there_are() -> None:
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    asked = set()
    for target in (target for panel in panels for target in panel["targets"]):
        names = re.findall(r"mockbroker_\w+", target["expr"])
        assert len(names) == 1, target
        family = FAMILIES[names[0]]
        asked.add(names[0])
        labels = re.findall(r"{{(\w+)}}", target["legendFormat"])
        grouped = re.search(r"by \(([^)]*)\)", target["expr"])
        labels += grouped[1].split(", ") if grouped else []
        assert set(labels) <= set(family.labels), target
        assert ("rate(" in target["expr"] or "increase(" in target["expr"]) == (
            family.kind == COUNTER and "fault" not in names[0]
        ), target
    assert len(asked) > 10


def test_several_brokers_are_told_apart() -> None:
    with MockBroker(brokers=3, topics={"orders": 3}, admin_port=0) as broker:
        broker.topic("orders").put_all(["a", "b", "c"])
        text = broker._bridged().call(lambda cluster: exposition(cluster, "1"))
    assert "mockbroker_brokers 3\n" in text
    assert 'mockbroker_topic_messages_in_total{topic="orders"} 3\n' in text
    assert len(re.findall(r"\nmockbroker_connections{broker=", text)) == 3


def test_connections_are_told_by_principal_mechanism_and_tls() -> None:
    core = login_core()
    logged_in(core)
    core.broker.connect(
        99,
        "/127.0.0.1",
        core.now_ms,
        local_address=("127.0.0.1", 9092),
        listener="SSL",
        tls=TlsSession("TLSv1.3", "TLS_AES_256_GCM_SHA384", "User:CN=bob"),
    )
    lines = [
        line
        for line in exposition(core.cluster, "1").splitlines()
        if line.startswith(("mockbroker_logins", "mockbroker_principal"))
    ]
    plain = 'mechanism="PLAIN",tls_version="",tls_cipher=""'
    tls = 'mechanism="",tls_version="TLSv1.3",tls_cipher="TLS_AES_256_GCM_SHA384"'
    assert lines == [
        'mockbroker_logins_total{broker="1",listener="SASL",mechanism="PLAIN"} 1',
        'mockbroker_logins_total{broker="1",listener="SSL",mechanism="TLS"} 1',
        'mockbroker_logins_failed_total{broker="1",listener="SASL",mechanism="PLAIN"} 0',
        'mockbroker_logins_failed_total{broker="1",listener="SSL",mechanism="TLS"} 0',
        f'{SECURED}{{broker="1",listener="SASL",principal="User:alice",{plain}}} 1',
        f'{SECURED}{{broker="1",listener="SSL",principal="User:CN=bob",{tls}}} 1',
    ]


def test_the_page_lists_every_family() -> None:
    page = (DASHBOARD.parents[1] / "admin-api.md").read_text("utf-8")
    for name, family in FAMILIES.items():
        labels = ", ".join(f"`{label}`" for label in family.labels)
        assert f"| `{name}` | {family.kind} | {labels} | {family.help} |" in page
