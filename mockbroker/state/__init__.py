"""What a test sees of a cluster and does to it: plain functions over a `Cluster`, run as a step."""
