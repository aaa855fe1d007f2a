"""The group coordinator: members, generations, committed offsets (Kafka: coordinator.group)."""
