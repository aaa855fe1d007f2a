"""Commands that look at a running broker and change it, over its admin API: `mockbroker topics …`.

`cli` calls `add_commands` and `run`. Nothing here knows the broker's own code: what a command can
do, any HTTP client can.
"""

from mockbroker.commands.parser import COMMANDS, add_commands
from mockbroker.commands.run import run

__all__ = ("COMMANDS", "add_commands", "run")
