"""Metrics that clients send to the broker because it asked for them (KIP-714)."""
