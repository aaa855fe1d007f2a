"""Faults as values: what a rule matches, what it does, and how often it did.

`Fault` is a rule, `presets` has ready-made ones by name, `FaultSet` holds the armed ones of a
cluster; `interceptor` and `network.shaping` act on them. docs/faults.md is the cookbook. Nothing
here is imported before the first rule is made.
"""

from mockbroker.faults.errors import FaultError
from mockbroker.faults.fault import Delay, Fault

__all__ = ("Delay", "Fault", "FaultError")
