"""Records are searched over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def test_records_are_found_by_key_text_and_time(api: Api) -> None:
    records = [
        {"key": f"k{n}", "value": f"paid <b>{n}</b>", "partition": n % 3, "timestamp": 1000 + n}
        for n in range(9)
    ]
    api("POST", "/v1/topics/orders/records", {"records": records})

    def found(query: str) -> list[str]:
        page = api("GET", f"/v1/topics/orders/search?{query}").body
        return sorted(one["key"] for one in page["records"])

    assert found("key=k4") == ["k4"]
    assert found("contains=%3Cb%3E7") == ["k7"]
    assert found("since_ms=1007") == ["k7", "k8"]
    assert found("key=k4&contains=5") == []
    assert api.problem("GET", "/v1/topics/none/search")[0] == 404


def test_a_page_says_where_to_go_on(api: Api) -> None:
    records = [{"key": "k", "value": str(n), "partition": 0} for n in range(3)]
    api("POST", "/v1/topics/orders/records", {"records": records})
    page = api("GET", "/v1/topics/orders/search?key=k&limit=2").body
    assert [one["value"] for one in page["records"]] == ["0", "1"]
    rest = f"partition={page['next_partition']}&offset={page['next_offset']}"
    last = api("GET", f"/v1/topics/orders/search?key=k&limit=2&{rest}").body
    assert [one["value"] for one in last["records"]] == ["2"]
    assert last["next_partition"] is None
