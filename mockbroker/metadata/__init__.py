"""What the cluster consists of: brokers, topics, ids, leaders, epochs and configs."""
