"""Brokers tell what they know, all of it; one that tells otherwise is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, cast

import pytest

from mockbroker_protocol.messages.metadata import DescribeClusterRequest, DescribeClusterResponse
from simulation.cluster.inquirers import INQUIRIES, Inquirer, InquiryCrew
from simulation.cluster.simulation import ClusterRun, plan_of
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from simulation.cluster.crews import CrewSetting

pytestmark = pytest.mark.sim


def test_every_question_is_answered_as_it_must_be() -> None:
    simulated = SimulatedCluster("admin")
    inquirer = Inquirer(simulated.world, "i", Random(1), simulated.truth, simulated.plan)
    inquirer.start()
    simulated.world.run_for(12_000)
    assert not simulated.world.violations
    assert inquirer.answers > 10 * len(INQUIRIES)


def test_a_wrong_answer_is_a_violation() -> None:
    simulated = SimulatedCluster()
    inquirer = Inquirer(simulated.world, "i", Random(1), simulated.truth, simulated.plan)
    inquirer.node, inquirer.broker = 2, simulated.world.cluster.brokers[1]
    answer = inquirer.inquire(DescribeClusterRequest(False), 0, DescribeClusterResponse)
    inquirer.expect("brokers", len(answer.brokers), 3)
    assert not simulated.world.violations
    inquirer.expect("brokers", len(answer.brokers), 4)
    (told,) = simulated.world.violations
    assert told.endswith("i: broker 2, : brokers is 3, not 4")


def test_the_crew_hires_one_where_a_seed_has_it() -> None:
    plan = plan_of(3)
    for is_on in (True, False):
        plan.on["inquiries"] = is_on
        run = ClusterRun(3, plan)
        (crew,) = (crew for crew in run.crews if isinstance(crew, InquiryCrew))
        assert len(crew.clients) == int(is_on)
        assert cast("CrewSetting", crew).plan is plan
        assert crew.counts() == {"inquiries": 0}
