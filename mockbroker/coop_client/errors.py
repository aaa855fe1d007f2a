"""What a consumer that shares partitions is refused, under the names that the draft gave."""

from __future__ import annotations

from typing import Final

from mockbroker.coop.numbers import DraftError


class SharingError(Exception):
    """Something of the extension did not work; `draft_code` is the draft's number, or 0."""

    draft_code = 0


class IndividualCommitNotAllowed(SharingError):  # noqa: N818 -- the draft's name
    """The coordinator's broker takes no commits of ranges: `accept.individual.commit` is off."""

    draft_code = int(DraftError.INDIVIDUAL_COMMIT_NOT_ALLOWED)


class TopicRangeFetchNotAllowed(SharingError):  # noqa: N818 -- the draft's name
    """The topic may not be shared: `range.fetch.enable` is off."""

    draft_code = int(DraftError.TOPIC_RANGE_FETCH_NOT_ALLOWED)


class ConsumerRangeFetchNotAccepted(SharingError):  # noqa: N818 -- the draft's name
    """This consumer may not read through ranges: it never opted in."""

    draft_code = int(DraftError.CONSUMER_RANGE_FETCH_NOT_ACCEPTED)


class MaxIndividualCommitReached(SharingError):  # noqa: N818 -- the draft's name
    """The group has as many ranges as it may have; whoever fills a gap may still commit."""

    draft_code = int(DraftError.MAX_INDIVIDUAL_COMMIT_REACHED)


class ExtensionMissingError(SharingError):
    """The broker does not speak the extension."""


class NotInGroupError(SharingError):
    """The group went on without this member, which joins again at its next poll.

    What it had and had not committed is given to others.
    """


class RefusedError(SharingError):
    """The broker answered with this error code; asking again is no use."""

    def __init__(self, doing: str, code: int) -> None:
        super().__init__(f"{doing}: error {code}")
        self.code = code


class UnreachableError(SharingError):
    """A broker cannot be reached, or did not answer in time."""


BY_DRAFT_CODE: Final[dict[int, type[SharingError]]] = {
    each.draft_code: each
    for each in (
        IndividualCommitNotAllowed,
        TopicRangeFetchNotAllowed,
        ConsumerRangeFetchNotAccepted,
        MaxIndividualCommitReached,
    )
}
