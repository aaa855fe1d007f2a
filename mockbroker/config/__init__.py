"""Broker and topic configs under Apache Kafka's names."""
