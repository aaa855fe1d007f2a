"""Data in and out of a broker at any size, as jobs on Spark: `mockbroker pipeline JOB`.

A room of its own beside the broker: it talks to any Kafka over TCP, and imports
`mockbroker_protocol` at the most. Jobs are pure functions from DataFrame to DataFrame with their
schemas as values (`records` and the modules named after the jobs); `sources`, `topics` and
`session` are the thin edges. PySpark is imported when a job runs, never before:
`mockbroker.pipeline.command` builds the command line and its help without it.

Invariants: no data is collected to the driver, only counts and a bounded sample; no Python
function sees a row; what Spark resolves (`connector`) it has before a job begins.
"""
