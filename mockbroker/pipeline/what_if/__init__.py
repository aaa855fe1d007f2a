"""What would happen if, at any size: the simulated brokers of `mockbroker.what_if`, spread out."""
