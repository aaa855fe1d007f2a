"""The transaction coordinator: producers by transactional id (Kafka: coordinator.transaction)."""
