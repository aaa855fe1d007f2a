"""With an authorizer, both brokers answer the same script alike while ACLs come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from tests.clients.server import serving
from tests.differential.acl_rule_steps import rule_steps
from tests.differential.acl_steps import authorizer_steps
from tests.differential.conftest import CONFIGS, OURS, kafka
from tests.differential.normalise import Symbols, normalise
from tests.differential.run import Runner
from tests.differential.stranger_steps import stranger_steps
from tests.differential.trees import differences

if TYPE_CHECKING:
    from pathlib import Path

    from tests.differential.steps import Step
    from tests.differential.trees import Tree

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]
AUTHORIZED = (
    f"authorizer.class.name={STANDARD_AUTHORIZER}",
    "allow.everyone.if.no.acl.found=true",
)


def script() -> list[Step]:
    return [*authorizer_steps(), *stranger_steps(), *rule_steps()]


def answers(bootstrap: str) -> list[Tree]:
    symbols = Symbols()
    outcomes = Runner(bootstrap).run(script())
    return [normalise(one.api, one.answer, symbols) for one in outcomes]


def test_acls_let_through_what_apache_kafka_lets_through(tmp_path: Path) -> None:
    with kafka(*CONFIGS, *AUTHORIZED) as bootstrap:
        expected = answers(bootstrap)
    with serving(tmp_path, *[f"--set={one}" for one in (*CONFIGS, *OURS, *AUTHORIZED)]) as ours:
        found = answers(ours)
    titles = [step.title for step in script()]
    assert [
        f"{title}: {line}"
        for title, theirs, mine in zip(titles, expected, found, strict=True)
        for line in differences(theirs, mine)
    ] == []
