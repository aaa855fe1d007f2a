"""Record batches: how records lie in Produce requests, in the log and in Fetch responses.

`batch` reads, builds and patches batches of magic 2; `record_codec` is the record inside them;
`legacy` and `conversion` know the message sets of magic 0 and 1; `compression` and `crc` serve
them all. Importing this package loads none of them, and none of them loads a native library
before it is needed.
"""
