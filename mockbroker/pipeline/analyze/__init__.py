"""Journals into tables and one page: `mockbroker pipeline analyze` (docs/analyze.md).

`journals` reads lines by an explicit schema; `tables` lists what is made of them, each a pure
function of the lines in a module named after its subject, with its schema as a value; `page` and
`plots` make one HTML file of bounded parts of these tables; `job` is the thin edge around all.
Imported by `pipeline.command` when the job runs. docs/journal.md is the form of the input; nothing
of the broker is imported.

Invariants: a table is computed from the lines alone; what reaches the driver is bounded by
`tables.PAGE_ROWS` a table; a line that cannot be read is counted, kept and told.
"""
