"""Which refusals become which exceptions."""

from __future__ import annotations

import pytest

from mockbroker import AdminApiError, TopicError
from mockbroker.testing.remote.refusals import refused_as


@pytest.mark.parametrize(
    ("status", "kind"),
    [(404, TopicError), (409, TopicError), (401, AdminApiError), (0, AdminApiError)],
)
def test_what_is_refused_is_the_verbs_own_error_and_the_rest_stays(
    status: int, kind: type[Exception]
) -> None:
    with pytest.raises(kind, match="no") as raised, refused_as(TopicError):
        raise AdminApiError("no", status)
    assert type(raised.value) is kind
