"""The core of one broker: connections, the request boundary, fault rules on the way, metrics.

`cluster` makes nodes by `assembly.make_broker`; shells feed each one's `broker.Broker`.
"""
