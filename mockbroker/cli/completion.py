"""`mockbroker completion bash|zsh|fish`: a script that completes commands, verbs and options.

Load it with `source <(mockbroker completion bash)`, in fish `mockbroker completion fish | source`.
The script asks `mockbroker completion words -- …` for what may come next, which is read off the
parser, so nothing has to be kept in step. File names are the shell's where nothing is known.
"""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SCRIPTS: Final = {
    "bash": """\
_mockbroker() {
  local words
  words=$(mockbroker completion words -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o bashdefault -o default -F _mockbroker mockbroker
""",
    "zsh": """\
#compdef mockbroker
_mockbroker() {
  local -a found
  found=(${(f)"$(mockbroker completion words -- "${(@)words[2,CURRENT-1]}" 2>/dev/null)"})
  if (( ${#found} )); then compadd -a found; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _mockbroker mockbroker
""",
    "fish": """\
function __mockbroker_words
  set -l words (commandline -opc)
  mockbroker completion words -- $words[2..-1] 2>/dev/null
end
complete -c mockbroker -a '(__mockbroker_words)'
""",
}


def complete(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Print a shell's script, or the words that may come next; returns the exit status."""
    if words[:2] == ["words", "--"]:
        print("\n".join(candidates(parser, words[2:])))
        return 0
    if len(words) == 1 and words[0] in SCRIPTS:
        print(SCRIPTS[words[0]], end="")
        return 0
    shells = ", ".join(SCRIPTS)
    print(f"mockbroker: completion: allowed: {shells}", file=sys.stderr)
    return 2


def refuse(parser: argparse.ArgumentParser, words: Sequence[str], unknown: Sequence[str]) -> None:
    """End with what was not understood, the option nearest to it, and the command's own help."""
    reached, _, _ = _walk(parser, words)
    near = next(iter(get_close_matches(unknown[0].partition("=")[0], _options(reached), n=1)), None)
    hint = "" if near is None else f"; did you mean {near}?"
    reached.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")


def candidates(parser: argparse.ArgumentParser, before: Iterable[str]) -> list[str]:
    """What may come behind these words: commands, else options; [] where a value is expected."""
    parser, used, wants_value = _walk(parser, before)
    if wants_value:
        return []
    repeatable = {
        name
        for name, action in _options(parser).items()
        if "append" in type(action).__name__.lower()
    }
    options = sorted(name for name in _options(parser) if name not in used - repeatable)
    return sorted(_commands(parser)) or options


def _walk(
    parser: argparse.ArgumentParser, words: Iterable[str]
) -> tuple[argparse.ArgumentParser, set[str], bool]:
    """The parser that words lead to, its options among them, and whether a value comes next."""
    used: set[str] = set()
    wants_value = False
    for word in words:
        options, commands = _options(parser), _commands(parser)
        name, has_value, _ = word.partition("=")
        if wants_value:
            wants_value = False
        elif name in options:
            used.add(name)
            wants_value = not has_value and options[name].nargs != 0
        elif word in commands:
            parser, used = commands[word], set()
    return parser, used, wants_value


def _options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    return {
        name: action
        for action in parser._actions  # noqa: SLF001 -- argparse has no public name for them
        for name in action.option_strings
        if name.startswith("--")
    }


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:  # noqa: SLF001 -- as above
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 -- as above
            return dict(action.choices)
    return {}
