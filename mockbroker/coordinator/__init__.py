"""Coordinators: state machines whose state is the replay of an internal topic's records."""
