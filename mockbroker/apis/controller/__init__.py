"""What only a controller's listener serves: the raft of the metadata log, and brokers' requests.

Each handler has its module, as in `apis`; `registry` names them. They are reached when a
controller's listener was asked for, so each may take it that `services.quorum` is there.
"""
