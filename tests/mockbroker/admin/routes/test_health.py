"""Health and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.admin.routes.health import exposition

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def test_a_broker_that_serves_is_live_and_ready(api: Api) -> None:
    assert api("GET", "/health/live").body == {"status": "live"}
    assert api("GET", "/health/ready").body == {"status": "ready"}


def test_metrics_have_kafkas_names_and_the_brokers_values(api: Api) -> None:
    answer = api("GET", "/metrics")
    assert answer.kind.startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    name = "kafka_server_FetchSessionCache_NumIncrementalFetchSessions"
    assert samples[f'{name}{{broker="1"}}'] == "0"
    assert f"# TYPE {name} gauge" in lines
    assert len(samples) == len(api.broker.metrics())


def test_labels_are_escaped_and_counters_are_told_apart() -> None:
    text = exposition({1: {'a.b:type=T,name=OpsPerSec,x-y=q"\\\n': 2.0}})
    assert text == (
        '# TYPE a_b_T_OpsPerSec counter\na_b_T_OpsPerSec{x_y="q\\"\\\\\\n",broker="1"} 2\n'
    )


def test_a_value_has_all_its_digits() -> None:
    text = exposition({1: {"a:type=T,name=N": 1_234_567_890.0, "a:type=T,name=O": 0.123456789}})
    assert [line.split()[-1] for line in text.splitlines() if line[0] != "#"] == [
        "1234567890",
        "0.123456789",
    ]
