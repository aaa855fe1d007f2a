"""What a principal may do, and how fast: quotas."""
