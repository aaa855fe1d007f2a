"""JAAS text is read as Java reads it, and what is wrong with it tells no secret."""

from __future__ import annotations

import pytest

from mockbroker.config.errors import ConfigError
from mockbroker.config.jaas import parse_jaas

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (f"{MODULE} required;", {}),
        (f'{MODULE} required user_alice="s";', {"user_alice": "s"}),
        (f"{MODULE} REQUISITE a = 'x y'\n b=plain.word_1-$;", {"a": "x y", "b": "plain.word_1-$"}),
        (f'{MODULE} optional a="q\\"z\\\\ \\101\\n";', {"a": 'q"z\\ A\n'}),
        (f'{MODULE} sufficient // no\n a="//" /* b="x" */;', {"a": "//"}),
        (f'{MODULE} required a="1" a="2";', {"a": "2"}),
        (f'{MODULE} required a="";', {"a": ""}),
        (f'{MODULE} required user_jürgen="grün";', {"user_jürgen": "grün"}),
    ],
)
def test_options(text: str, options: dict[str, str]) -> None:
    entry = parse_jaas(text)
    assert entry.module == MODULE
    assert entry.options == options


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Login module not specified in JAAS config"),
        (MODULE, "Login module control flag not specified in JAAS config"),
        (f"{MODULE} ;", "Login module control flag is not available in the JAAS config"),
        (f"{MODULE} maybe;", "Invalid login module control flag in JAAS config"),
        (f'{MODULE} required a="hush"', "JAAS config entry not terminated by semi-colon"),
        (f"{MODULE} required a;", "Value not specified for key 'a' in JAAS config"),
        (f"{MODULE} required a=5;", "Value not specified for key 'a' in JAAS config"),
        (f"{MODULE} required a=;", "Value not specified for key 'a' in JAAS config"),
        (f'{MODULE} required a "hush";', "Value not specified for key 'a' in JAAS config"),
        (f'{MODULE} required "hu sh";', "Value not specified for key in JAAS config"),
        (
            f"{MODULE} required; {MODULE} required;",
            "JAAS config property contains 2 login modules, should be 1 module",
        ),
    ],
)
def test_what_is_wrong_is_told_without_values(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as told:
        parse_jaas(text)
    assert str(told.value) == problem


def test_an_entry_prints_without_its_options() -> None:
    assert "hush" not in repr(parse_jaas(f'{MODULE} required user_alice="hush";'))
