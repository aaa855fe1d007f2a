"""A run of the cluster's simulation without faults, with transactions and little else."""

from __future__ import annotations

from random import Random

from simulation.cluster.plan import ClusterPlan
from simulation.cluster.simulation import ClusterRun
from simulation.cluster.transactions import TransactionCrew


def transaction_run(
    *, transactors: int = 1, processors: int = 0, succession_chance: float = 0.0, seed: int = 1
) -> tuple[ClusterRun, TransactionCrew]:
    """The run, and its crew of transactions."""
    plan = ClusterPlan(Random(0))
    plan.on.update({**dict.fromkeys(plan.on, False), "transactions": True})
    plan.brokers, plan.racks = 3, ["r1", "r2", "r3"]
    plan.topics = {"t0": 1, "out": 1}
    plan.min_isr, plan.unclean, plan.active_ms = 2, False, 400.0
    plan.producers = plan.consumers = plan.committed_readers = 1
    plan.committers = 0
    plan.transactors, plan.processors = transactors, processors
    plan.succession_chance = succession_chance
    run = ClusterRun(seed, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, TransactionCrew))
    return run, crew
