"""How the brokers of a cluster reach each other and their controller, with faults as values."""
