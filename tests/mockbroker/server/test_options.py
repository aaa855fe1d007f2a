"""The table of options: what each line of it promises."""

from __future__ import annotations

import pytest

from mockbroker.server.options import OPTIONS, BrokerOptions, Option, ServeOptions
from mockbroker.server.settings import Settings


@pytest.mark.parametrize("option", OPTIONS.values(), ids=list(OPTIONS))
def test_a_default_is_a_value_of_the_option(option: Option) -> None:
    if option.default is not None:
        read = option.read(option.name, option.default)
        assert option.read(option.name, read) == read


def test_each_has_flag_variable_and_help_or_a_table() -> None:
    for option in OPTIONS.values():
        assert (option.flag and option.text) or option.table
        assert option.variable.startswith("MOCKBROKER_")
    flags = [option.flag for option in OPTIONS.values() if option.flag]
    assert len(set(flags)) == len(flags)


def test_a_process_takes_all_that_the_python_class_takes() -> None:
    assert BrokerOptions.__annotations__.keys() < ServeOptions.__annotations__.keys()
    assert OPTIONS.keys() == ServeOptions.__annotations__.keys()


def test_settings_have_what_none_gave() -> None:
    assert Settings().options.keys() == OPTIONS.keys()
