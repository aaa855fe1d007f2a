"""One module an API: the handler, in Kafka's order of checks (KafkaApis)."""
