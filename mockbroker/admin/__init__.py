"""The admin HTTP API: the broker's state, time, faults and journal for any language.

`launch` makes an `AdminListener` when an admin port is asked for. Nothing of the web framework is
imported before the first HTTP connection comes.
"""
