"""A real raft exchange over TCP against a broker whose commits a test holds."""

from __future__ import annotations

import pytest

from mockbroker.testing.bridge import WaitTimeoutError
from mockbroker.testing.mock_broker import MockBroker
from mockbroker_protocol.messages.fetch import FetchResponse
from tests.support.blocking import BlockingConnection
from tests.support.metadata_logs import QUIET, raft_fetch


def test_an_observer_sees_an_advance_that_was_held() -> None:
    with MockBroker(controller_port=0, config=QUIET) as broker:
        log = broker.metadata_log
        assert broker.controller_servers is not None
        log.hold_commits()
        offset = log.append_no_op()
        assert (log.end_offset, log.high_watermark) == (offset + 1, offset)
        with BlockingConnection(broker.controller_servers) as observer:
            observer.send(raft_fetch(offset + 1, wait=20_000, high_watermark=offset), 18)
            log.wait_for_observer()
            log.release_commits()
            data = observer.receive(FetchResponse).responses[0].partitions[0]
        assert (data.error_code, data.high_watermark) == (0, offset + 1)
        assert log.high_watermark == offset + 1


def test_a_new_epoch_fences_the_old_one() -> None:
    with MockBroker(controller_port=0, config=QUIET) as broker:
        assert broker.controller_servers is not None
        broker.metadata_log.begin_epoch()
        with BlockingConnection(broker.controller_servers) as observer:
            response = observer.call(raft_fetch(0, 1, 0), 18, FetchResponse)
        data = response.responses[0].partitions[0]
        assert data.error_code == 74
        assert data.current_leader is not None
        assert data.current_leader.leader_epoch == 2


def test_commits_that_are_held_go_on_after_a_scope_or_a_reset() -> None:
    with MockBroker(controller_port=0, config=QUIET) as broker:
        log = broker.metadata_log
        with broker.scope():
            log.hold_commits()
            log.append_no_op()
            assert log.high_watermark == log.end_offset - 1
        assert log.high_watermark == log.end_offset
        log.hold_commits()
        broker.reset()
        assert log.append_no_op() + 1 == log.high_watermark == log.end_offset


def test_nobody_waits() -> None:
    with (
        MockBroker(controller_port=0, config=QUIET) as broker,
        pytest.raises(WaitTimeoutError, match="no observer waits at offset"),
    ):
        broker.metadata_log.wait_for_observer(0.01)


def test_without_a_controllers_listener_there_is_no_metadata_log() -> None:
    with MockBroker() as broker:
        assert broker.controller_servers is None
        with pytest.raises(RuntimeError, match="controller_port"):
            broker.metadata_log.hold_commits()
