"""The deterministic simulation: a whole cluster, its clients and their network on one seed."""
