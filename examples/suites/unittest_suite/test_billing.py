"""With unittest alone: `python -m unittest` in this folder."""

from __future__ import annotations

import json
import unittest

from billing import Billing

from mockbroker import MockBroker


class BillingTest(unittest.TestCase):
    broker: MockBroker

    @classmethod
    def setUpClass(cls) -> None:
        cls.broker = MockBroker(topics={"orders": 3, "invoices": 3})
        cls.enterClassContext(cls.broker)

    def setUp(self) -> None:
        # What a test makes, changes or breaks is undone at its end.
        self.enterContext(self.broker.scope())

    def service(self) -> Billing:
        service = Billing(self.broker.bootstrap_servers)
        self.addCleanup(service.close)
        return service

    def test_an_order_is_billed(self) -> None:
        self.broker.topic("orders").put('{"id": 7, "price": 250, "count": 2}', key="7")
        self.service().bill(1)
        (invoice,) = self.broker.topic("invoices").wait_for(1)
        self.assertEqual(json.loads(invoice.value or b""), {"order": 7, "total": 500})
        self.assertEqual(invoice.key, b"7")

    def test_what_is_billed_is_committed(self) -> None:
        for number in range(4):
            self.broker.topic("orders").put(
                f'{{"id": {number}, "price": 1, "count": 1}}', partition=0
            )
        self.service().bill(4)
        self.assertEqual(self.broker.group("billing").committed()["orders", 0], 4)

    def test_an_outage_of_a_partition_is_survived(self) -> None:
        self.broker.faults.add({"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "count": 2})
        self.broker.topic("orders").put('{"id": 8, "price": 1, "count": 1}', key="8")
        self.service().bill(1)
        self.broker.topic("invoices").wait_for(1)
        refused = self.broker.journal.requests(api="Produce", error="NOT_LEADER_OR_FOLLOWER")
        self.assertEqual(len(refused), 2)


if __name__ == "__main__":
    unittest.main()
