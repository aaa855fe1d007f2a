"""With Django's test runner: `python manage.py test`, `python manage.py test --parallel 2`."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from shop.models import Order
from shop.testing import KafkaTestCase


def place(client: Client, **order: Any) -> Any:
    return client.post("/orders", json.dumps(order), content_type="application/json")


class PlacedOrderTest(KafkaTestCase):
    def test_an_order_is_told(self) -> None:
        # A TestCase never commits, so Django is asked to run what waits for the commit.
        with self.captureOnCommitCallbacks(execute=True):
            answer = place(self.client, article="lamp", count=2)
        self.assertEqual(answer.status_code, 201)
        (event,) = self.broker.topic("orders").wait_for(1)
        self.assertEqual(json.loads(event.value or b""), answer.json())
        self.assertEqual(event.key, str(answer.json()["id"]).encode())

    def test_each_test_begins_with_an_empty_topic(self) -> None:
        self.assertEqual(self.broker.topic("orders").records(), [])
        with self.captureOnCommitCallbacks(execute=True):
            place(self.client, article="chair", count=1)
        self.assertEqual(len(self.broker.topic("orders").wait_for(1)), 1)


class RolledBackOrderTest(KafkaTestCase):
    def test_nothing_is_told_of_what_is_rolled_back(self) -> None:
        with self.captureOnCommitCallbacks(execute=True), self.assertRaises(ValueError):
            place(self.client, article="lamp", count=101)
        self.assertEqual(Order.objects.count(), 0)
        self.assertEqual(self.broker.topic("orders").records(), [])

    def test_the_order_stands_when_the_broker_refuses(self) -> None:
        self.broker.faults.add({"api": "Produce", "error": "MESSAGE_TOO_LARGE"})
        with self.assertRaisesRegex(Exception, "MessageSizeTooLarge"):
            with self.captureOnCommitCallbacks(execute=True):
                place(self.client, article="lamp", count=3)
        self.assertEqual(Order.objects.count(), 1)
