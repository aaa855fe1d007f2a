"""A broker in a process of its own: `with BrokerProcess(topics={"orders": 3}) as broker:`.

It is `mockbroker serve` of this interpreter on free ports, with an admin port; its arguments go
into a configuration file, as docs/config-file.md has it. What is given back is a `RemoteBroker`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final, Unpack

from mockbroker.server.options import OPTIONS
from mockbroker.testing.remote.broker import RemoteBroker, attach, tell_users

if TYPE_CHECKING:
    from types import TracebackType

    from mockbroker.server.options import BrokerOptions

__tracebackhide__ = True

START_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.01
_STOP_SECONDS: Final = 10.0


class BrokerProcess:
    """Starts the process when it is entered, and ends it behind the `with`.

    The arguments are those of `MockBroker`, as plain data. Raises RuntimeError with what the
    process said when it does not start.
    """

    def __init__(self, **options: Unpack[BrokerOptions]) -> None:
        # Listeners have ports of their own.
        free = {} if options.get("listeners") else {"port": 0}
        self._options = {**free, "admin_port": 0, **options}
        self._users = options.get("users") or {}
        self._stack = ExitStack()

    def __enter__(self) -> RemoteBroker:
        started = self._started()
        try:
            self._broker = RemoteBroker(*started)
        except BaseException:
            self._stack.close()
            raise
        tell_users(self._broker, self._users)
        return self._broker

    def restart(self) -> None:
        """End the process and start another; what was given back is the broker in that one then.

        It is on other ports, where no ports were asked for.
        """
        self._stack.close()
        attach(self._broker, *self._started())

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _started(self) -> tuple[str, str | None, None, str | None]:
        """What `attach` wants: its admin URL, the token for it, and whom to trust."""
        folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="mockbroker-")))
        try:
            return self._start(folder)
        except BaseException:
            self._stack.close()
            raise

    def _start(self, folder: Path) -> tuple[str, str | None, None, str | None]:
        config, ready, log = folder / "broker.toml", folder / "ready.json", folder / "log"
        config.write_text(to_toml(self._options), "utf-8")
        command = [sys.executable, "-m", "mockbroker", "serve", "--log-level", "warning"]
        command += ["--config", str(config), "--ready-file", str(ready)]
        with log.open("wb") as said:
            process = subprocess.Popen(command, stdout=said, stderr=said)  # noqa: S603 -- ours
        self._stack.callback(_end, process)
        deadline = monotonic() + START_SECONDS
        while not ready.exists():
            if process.poll() is not None or monotonic() > deadline:
                raise RuntimeError(f"the broker did not start:\n{log.read_text('utf-8')}")
            sleep(_POLL_SECONDS)
        found = json.loads(ready.read_text("utf-8"))
        token = self._options.get("admin_token")
        ca_file = found.get("tls", {}).get("ca")
        return found["admin"], None if token is None else str(token), None, ca_file


def to_toml(options: Mapping[str, object]) -> str:
    """The options as a configuration file; one that is None is left out."""
    lines = []
    for name, value in options.items():
        option = OPTIONS[name]
        if value is not None:
            lines.append(f"{json.dumps(option.table or option.flag)} = {_value(value)}")
    return "\n".join([*lines, ""])


def _value(value: object) -> str:
    """A value as TOML has it, in one line; a null in a table is an empty table."""
    if value is None:
        return "{}"
    if isinstance(value, bool | int | float | str):
        return json.dumps(value)
    to_dict = getattr(value, "to_dict", None)
    if to_dict is not None:
        value = to_dict()
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{json.dumps(str(k))} = {_value(v)}" for k, v in value.items()) + "}"
        )
    if hasattr(value, "__fspath__"):
        return json.dumps(str(value))
    assert hasattr(value, "__iter__"), value
    return "[" + ", ".join(_value(one) for one in value) + "]"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
