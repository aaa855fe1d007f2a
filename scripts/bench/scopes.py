"""What a scope costs beside what the broker holds: it should be flat.

scripts/bench/scopes [--brokers N] [--rounds N]

Each round begins a scope, puts ten records into one topic that has 10, 1,000 or 100,000, commits an
offset and ends the scope. Milliseconds of a round and of the scope in it, the median, and of an
append with and without one.
"""

from __future__ import annotations

import argparse
from statistics import median
from time import perf_counter

from mockbroker import MockBroker

HELD = (10, 1_000, 100_000)


def timed(broker: MockBroker, *, scoped: bool) -> float:
    """Milliseconds of one round."""
    topic, group = broker.topic("held"), broker.group("g")
    began = perf_counter()
    if scoped:
        with broker.scope():
            topic.put_all([b"x"] * 10)
            group.commit({("held", 0): 1})
    else:
        topic.put_all([b"x"] * 10)
        group.commit({("held", 0): 1})
    return (perf_counter() - began) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=100)
    arguments = parser.parse_args()
    print(f"{'records':>10} {'round in a scope':>18} {'without':>10}   ms, median")
    for held in HELD:
        with MockBroker(brokers=arguments.brokers, topics={"held": 1}) as broker:
            broker.topic("held").put_all([b"x"] * held)
            broker.group("g").commit({("held", 0): 0})
            rounds = range(arguments.rounds)
            scoped = median(timed(broker, scoped=True) for _ in rounds)
            plain = median(timed(broker, scoped=False) for _ in rounds)
            assert broker.topic("held").end_offsets()[0] == held + 10 * arguments.rounds
        print(f"{held:>10,} {scoped:>18.2f} {plain:>10.2f}")


if __name__ == "__main__":
    main()
