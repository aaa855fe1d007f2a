"""The log of one partition: batches, offsets, producer state, transactions."""
