"""Messages as typed classes, one module per family of APIs; `catalog` finds them by API key.

Importing this package imports no message: a broker pays only for the families it speaks.
"""
