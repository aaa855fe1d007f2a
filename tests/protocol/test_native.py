"""What the compiler is told of a class changes nothing of it; compiled, the collector leaves it."""

from __future__ import annotations

import gc

from mockbroker.server.compiled import is_compiled
from mockbroker_protocol.messages.produce import ProduceResponsePartition
from mockbroker_protocol.native import mypyc_attr


def test_interpreted_a_class_stays_as_it_is() -> None:
    class Offset:
        pass

    assert mypyc_attr(acyclic=True, free_list_len=1)(Offset) is Offset


def test_compiled_the_collector_does_not_know_what_is_made_for_each_partition() -> None:
    assert gc.is_tracked(ProduceResponsePartition()) is not is_compiled()
