"""verify: each kind of difference is found, counted and told by key; equal is status 0."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.pipeline.broker_client import BrokerClient
from mockbroker.pipeline.command import run
from mockbroker.pipeline.verify import KINDS
from tests.support.whole_topics import produce

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mockbroker import MockBroker

pytestmark = pytest.mark.spark
EXPECTED = [("a", "1"), ("a", "2"), ("a", "3"), ("b", "1"), ("b", "1"), ("c", "9")]


def fill(broker: MockBroker, topic: str, pairs: list[tuple[str, str]]) -> None:
    with BrokerClient(broker.bootstrap_servers) as client:
        client.create_topic(topic, 2)
    keys, values = ([pair[side].encode() for pair in pairs] for side in (0, 1))
    times = list(range(len(pairs)))
    produce(broker.bootstrap_servers, topic, values, keys=keys, timestamps=times)


@pytest.mark.parametrize(
    ("actual", "differing"),
    [
        (EXPECTED, (0, 0, 0, 0)),
        ([*EXPECTED[3:], *EXPECTED[:3]], (0, 0, 0, 0)),
        (EXPECTED[1:], (1, 0, 0, 0)),
        ([*EXPECTED, ("z", "1"), ("a", "4")], (0, 2, 0, 0)),
        ([*EXPECTED, ("b", "1"), ("c", "9")], (0, 0, 2, 0)),
        ([EXPECTED[1], EXPECTED[0], *EXPECTED[2:]], (0, 0, 0, 1)),
        (
            [EXPECTED[2], EXPECTED[1], EXPECTED[0], EXPECTED[3], EXPECTED[5], ("x", "")],
            (1, 1, 0, 2),
        ),
    ],
)
def test_a_topic_against_a_topic(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    capsys: pytest.CaptureFixture[str],
    actual: list[tuple[str, str]],
    differing: tuple[int, ...],
) -> None:
    fill(broker, f"{topic}-e", EXPECTED)
    fill(broker, topic, actual)
    words = ["verify", "--bootstrap", broker.bootstrap_servers, "--topic", topic, "--json"]
    words += ["--expected-topic", f"{topic}-e", "--ignore", "timestamp"]
    status = run(words, spark)
    found = json.loads(capsys.readouterr().out)
    assert bool(found["tables"][1:]) == any(differing[:3])
    assert tuple(found[kind] for kind in KINDS) == differing
    assert status == (1 if any(differing) else 0)
    assert (found["expected"], found["actual"]) == (len(EXPECTED), len(actual))


def test_a_topic_against_a_dataset_with_a_table_that_names_keys(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = tmp_path / "in.csv"
    source.write_text("k,v\n" + "".join(f"{k},{v}\n" for k, v in EXPECTED))
    fill(broker, topic, [*EXPECTED[:-1], ("zz", "new")])
    words = ["verify", str(source), "--bootstrap", broker.bootstrap_servers, "--topic", topic]
    words += ["--key", "k", "--value", "v"]
    assert run(words, spark) == 1
    out = capsys.readouterr().out
    assert "reordered  not asked" in out
    assert "c          1      0        0" in out
    assert "zz         0      1        0" in out
    assert "2 rows differ" in out
    assert run([*words, "--keep-order"], spark) == 1
    assert "reordered     0" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["a.csv", "--expected-topic", "t"]])
def test_there_is_one_thing_to_compare_with(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    fill(broker, topic, [])
    words = ["verify", *words, "--bootstrap", broker.bootstrap_servers, "--topic", topic]
    assert run(words, spark) == 2
    assert "either files or --expected-topic" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("moved", "alone"),
    [
        ({"timestamps": [7]}, "timestamp"),
        ({"partition": 1}, "partition"),
        ({"timestamps": [7], "partition": 1}, "timestamp,partition"),
    ],
)
def test_topics_that_differ_in_time_or_partition_alone(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    capsys: pytest.CaptureFixture[str],
    moved: dict[str, Any],
    alone: str,
) -> None:
    for name, how in ((topic, moved), (f"{topic}-e", {})):
        fill(broker, name, [])
        there = {"timestamps": [6], "partition": 0, **how}
        produce(broker.bootstrap_servers, name, [b"1"], keys=[b"k"], **there)
    words = ["verify", "--bootstrap", broker.bootstrap_servers, "--topic", topic]
    words += ["--expected-topic", f"{topic}-e"]
    assert run(words, spark) == 1
    assert f"2 rows differ; in {alone.replace(',', ' and ')} alone (--ignore {alone})" in (
        capsys.readouterr().out
    )
    assert run([*words, "--ignore", alone], spark) == 0


def test_nothing_against_nothing_is_told_and_no_success(
    spark: SparkSession, broker: MockBroker, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(broker, topic, EXPECTED)
    fill(broker, f"{topic}-e", [])
    where = ["verify", "--bootstrap", broker.bootstrap_servers, "--topic", topic]
    words = [*where, "--expected-topic", f"{topic}-e"]
    assert run([*words, "--to", "offset:0"], spark) == 1
    told = capsys.readouterr().out
    assert "; 0 rows on both sides: nothing was compared (--allow-empty takes that" in told
    assert f"; no record in the range; {topic} has offsets 0: " in told
    assert f"; expected: no record in the range; {topic}-e has offsets 0: 0 to 0, 1: 0 to 0" in told
    assert run([*words, "--to", "offset:0", "--allow-empty"], spark) == 0
    assert "nothing was compared; no record" in capsys.readouterr().out
    assert run([*words, "--allow-empty"], spark) == 1
    told = capsys.readouterr().out
    assert "6 rows differ" in told
    assert "; expected: no record in the range" in told


def test_what_may_be_ignored_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["verify", "--topic", "a", "--expected-topic", "b", "--ignore", "value"])
    assert "--ignore: 'value' is none of timestamp, partition" in capsys.readouterr().err
