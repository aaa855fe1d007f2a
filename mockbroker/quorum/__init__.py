"""The metadata log `__cluster_metadata` and the quorum that leads it (KRaft).

Here only when a controller's listener is asked for; a broker without one imports nothing of it.
"""
