"""The command line: what is printed, how a mistake is told, and the exit status."""

from __future__ import annotations

import pytest

from mockbroker.cli.main import main


def test_a_mistake_is_one_line_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "none"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "mockbroker: --port: 'none' is not a number; allowed: 0 (any free port) to 65535\n"
    )


def test_an_unknown_flag_is_one_line_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["serve", "--prot", "1"])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--prot" in error
    assert "see mockbroker serve --help" in error, "where the flags are listed"


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    from mockbroker import __version__
    from mockbroker.server.compiled import is_compiled

    assert main(["--version"]) == 0
    build = "compiled" if is_compiled() else "pure Python"
    assert capsys.readouterr().out == f"mockbroker {__version__} ({build})\n"


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["serve", "--help"])
    assert stopped.value.code == 0
    assert "mockbroker serve --port 0 --ready-file broker.json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["serve", "--prot", "1"], "--prot 1; did you mean --port? (see mockbroker serve --help)"),
        (["topics", "put", "--ky", "k", "t", "v"], "(see mockbroker topics put --help)"),
        (["topics", "put", "t"], "required: VALUE (see mockbroker topics put --help)"),
        (["topics", "mak"], "(see mockbroker topics --help)"),
        (["sevre"], "(see mockbroker --help)"),
    ],
)
def test_a_usage_error_names_its_command(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    assert told in capsys.readouterr().err


def test_a_slip_in_a_variable_stops_other_commands_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOCKBROKER_ADMN", "http://127.0.0.1:1")
    assert main(["topics", "list"]) == 2
    assert "MOCKBROKER_ADMN: there is no such variable; allowed: MOCKBROKER_ADMIN" in (
        capsys.readouterr().err
    )
