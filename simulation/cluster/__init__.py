"""Several brokers as one simulated cluster: crashes, bad links, elections, and what must hold."""
