"""Kafka's wire protocol: headers, frames, messages, record batches.

Needs the standard library alone (crc32c and cramjam are imported on first use) and knows nothing of
the broker beside it. Start at `frames` for bytes, `headers` for what a frame opens with, `plan` for
bodies, and `messages` for the typed classes that are the schema.
"""
