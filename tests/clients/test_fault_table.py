"""docs/faults-clients.md says what each client is told at each fault; each row is tried again."""

from __future__ import annotations

import pytest

from scripts.fault_table import CASES, CLIENTS, answers_of, ask, known


def test_the_page_has_a_row_for_each_fault() -> None:
    rows = known()
    assert rows.keys() == CASES.keys()
    for name, cells in rows.items():
        assert len(cells) == len(CLIENTS), name
        assert not any("ends with" in cell or "not met" in cell for cell in cells), name


@pytest.mark.clients
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", CASES)
def test_a_client_is_told_what_the_page_says(name: str, client: str) -> None:
    assert ask(name, client) in answers_of(known()[name][CLIENTS.index(client)])
