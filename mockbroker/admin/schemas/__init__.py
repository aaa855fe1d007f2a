"""Records that were written with a schema registry, decoded: which schema, the value as JSON."""
