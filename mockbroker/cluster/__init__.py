"""The brokers of one process as a cluster: nodes, the links between them, what tests do to them."""
