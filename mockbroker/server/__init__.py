"""A broker process: its options and listeners, its start and end, its log lines and journal files.

`cli` and `testing` call `launch`; nothing below this room knows it.
"""
