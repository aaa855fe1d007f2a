"""A test case with a broker."""

from __future__ import annotations

import atexit
import os
from functools import cache

from django.test import TestCase, override_settings

from mockbroker import MockBroker


@cache
def _broker_of(_pid: int) -> MockBroker:
    broker = MockBroker(topics={"orders": 3}).start()
    atexit.register(broker.stop)
    return broker


class KafkaTestCase(TestCase):
    """`self.broker` is one a process: with `--parallel`, each worker has its own."""

    broker: MockBroker

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.broker = _broker_of(os.getpid())
        kafka = {"bootstrap_servers": cls.broker.bootstrap_servers}
        cls.enterClassContext(override_settings(KAFKA=kafka))

    def setUp(self) -> None:
        self.enterContext(self.broker.scope())
