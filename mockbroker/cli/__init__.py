"""The command line: `main` with `mockbroker serve`, and the commands that look at a running broker.

Those are HTTP clients of its admin API (`mockbroker topics …`): what a command can do, any HTTP
client can.
"""
