"""`mockbroker top`: what a broker does, live in a terminal, by its admin API alone.

`rates` is the head of the screen, `views` are its tables, `app` draws both with Textual (the extra
`top`), `command` decides between the screen and one look as text or JSON, `terminal` ends it with
its terminal. Called by `cli.run`.
"""
