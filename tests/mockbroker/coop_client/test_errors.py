"""Each error of the draft has its class."""

from __future__ import annotations

from mockbroker.coop_client.errors import BY_DRAFT_CODE, RefusedError, SharingError


def test_the_drafts_numbers_are_on_their_classes() -> None:
    assert {code: each.__name__ for code, each in BY_DRAFT_CODE.items()} == {
        88: "IndividualCommitNotAllowed",
        89: "TopicRangeFetchNotAllowed",
        90: "ConsumerRangeFetchNotAccepted",
        92: "MaxIndividualCommitReached",
    }
    assert all(issubclass(each, SharingError) for each in BY_DRAFT_CODE.values())


def test_a_refusal_keeps_its_code() -> None:
    error = RefusedError("fetch of t-0", 29)
    assert (error.code, str(error), error.draft_code) == (29, "fetch of t-0: error 29", 0)
