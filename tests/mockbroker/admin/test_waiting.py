"""Waiting for a step to bring something about."""

from __future__ import annotations

import asyncio

from mockbroker.admin.waiting import wait_until
from mockbroker.server.launch import launch
from mockbroker.server.settings import Settings


async def test_a_wait_looks_once_a_step_and_no_more_after_its_end() -> None:
    running = await launch(Settings())
    try:
        looks = 0

        def condition(_cluster: object) -> bool:
            nonlocal looks
            looks += 1
            return looks == 3

        waiting = asyncio.ensure_future(wait_until(running, condition, lambda _: "never", 20_000))
        await asyncio.sleep(0)
        running.act(lambda _: None)
        running.act(lambda _: None)
        assert (await waiting).met
        assert not running.watched
        running.act(lambda _: None)
        assert looks == 3
    finally:
        await running.stop()


async def test_what_is_so_already_is_not_waited_for() -> None:
    running = await launch(Settings())
    try:
        assert (await wait_until(running, lambda _: True, lambda _: "", 0)).met
        missed = await wait_until(running, lambda _: False, lambda _: "it is not", 1)
        assert (missed.met, missed.explanation) == (False, "it is not")
    finally:
        await running.stop()
