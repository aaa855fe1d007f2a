"""The one error of the config room: a key or a value that cannot be accepted.

Raised where configs enter: the command line, the Python API and the admin requests. The text is
one line that names the key, the bad value and what is allowed; the admin APIs send it as the
message of error 40, so it is worded as Apache Kafka words it.
"""

from __future__ import annotations


class ConfigError(ValueError):
    """A config key is unknown, or its value is not allowed."""


class InvalidRequestError(ConfigError):
    """The same where Apache Kafka answers error 42 instead of 40."""
