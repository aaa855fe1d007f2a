"""What would happen if: this broker's own fetch core, asked on virtual time.

`simulate` runs a cluster that is only described, each broker by itself: `broker.SimulatedBroker` is
the core of a node, put together as `node.assembly` puts it, without listeners and with a clock that
jumps from event to event. The pipeline spreads brokers over processes; nothing here knows how.
"""
