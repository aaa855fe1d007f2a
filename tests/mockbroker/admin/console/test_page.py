"""The console as one file: one script that is known by its hash, and data that stays data."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256

from mockbroker.admin.console.page import bundle, whole_page

EVIL = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>"


def page() -> str:
    return whole_page({"facts": {"test": EVIL, "failure": EVIL}, "answers": {"/v1/x": [EVIL]}})


def test_script_and_style_are_those_of_the_policy() -> None:
    text = page()
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    for part in (script, style):
        assert f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'" in text
    assert "unsafe" not in re.findall(r'content="(default-src[^"]*)"', text)[0]


def test_data_cannot_become_markup_and_is_what_it_was() -> None:
    text = page()
    assert text.count("<script") == 2
    (data,) = re.findall(r'type="application/json">(.*?)</script>', text, re.DOTALL)
    assert json.loads(data)["facts"]["test"] == EVIL


def test_nothing_is_loaded_from_elsewhere() -> None:
    assert re.findall(r"(?:src|href)=[\"'](?!#|\$)", page().replace(json.dumps(EVIL), "")) == []
    assert re.findall(r"^(?:import|export) ", bundle(), re.MULTILINE) == []
