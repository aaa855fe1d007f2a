"""Fetch sessions (KIP-227): which partitions a fetch concerns and what its answer leaves out."""
