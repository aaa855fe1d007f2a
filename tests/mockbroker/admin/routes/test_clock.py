"""The clock over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api

DAY_MS = 86_400_000


def test_a_frozen_clock_moves_only_when_told(api: Api) -> None:
    frozen = api("POST", "/v1/clock/freeze").body
    assert frozen["frozen"] is True
    assert api("GET", "/v1/clock").body == frozen
    later = api("POST", "/v1/clock/advance", {"ms": DAY_MS}).body
    assert later["now_ms"] == frozen["now_ms"] + DAY_MS
    assert later["wall_ms"] == frozen["wall_ms"] + DAY_MS
    kept = api("POST", "/v1/clock/advance", {"ms": 1000, "wall": False}).body
    assert (kept["now_ms"], kept["wall_ms"]) == (later["now_ms"] + 1000, later["wall_ms"])
    jumped = api("POST", "/v1/clock/jump", {"ms": -5000}).body
    assert (jumped["now_ms"], jumped["wall_ms"]) == (kept["now_ms"], kept["wall_ms"] - 5000)
    assert api("POST", "/v1/clock/unfreeze").body["frozen"] is False


def test_the_rate_is_set(api: Api) -> None:
    assert api("PUT", "/v1/clock/rate", {"rate": 60}).body["rate"] == 60


def test_bad_times_are_refused_and_change_nothing(api: Api) -> None:
    before = api("POST", "/v1/clock/freeze").body
    for method, verb, body, field in (
        ("POST", "advance", {"ms": -1}, "ms"),
        ("POST", "advance", {"ms": "soon"}, "ms"),
        ("POST", "jump", {}, "ms"),
        ("PUT", "rate", {"rate": 0}, "rate"),
    ):
        assert api.problem(method, f"/v1/clock/{verb}", body)[::2] == (422, field)
    assert api("GET", "/v1/clock").body == before
