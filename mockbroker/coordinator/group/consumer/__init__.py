"""Groups of the consumer protocol (KIP-848): epochs, assignors and reconciliation."""
