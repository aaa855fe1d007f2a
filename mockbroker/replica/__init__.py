"""The partitions that this node hosts, and the requests that read, append and wait on them."""
