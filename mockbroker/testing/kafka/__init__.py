"""An Apache Kafka, or whatever speaks its protocol, with the verbs of `MockBroker` that it can do.

`broker.Kafka` is what users import, as `mockbroker.Kafka`; `client` talks to the cluster by
confluent-kafka (extra `kafka`), which is imported when a client is made and not before.
"""
