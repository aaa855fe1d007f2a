"""Consumers beyond the partition: an extension that is off unless it is asked for."""
