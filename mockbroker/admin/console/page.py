"""The console as one file, with the answers of the admin API in it: no server, nothing to load.

`capture` collects the answers; the pytest plugin writes the file when a test failed. The modules
become one script, each a function that returns what it exports, so that they may be loaded from a
file; the policy of the page names that script and the style by their hashes.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from typing import Any, Final

from mockbroker.admin.console.assets import asset

_ENTRY: Final = "main.js"
_IMPORT: Final = re.compile(r'^import \{([^}]*)\} from "\./([^"]+)";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
_LIBRARY_EXPORT: Final = re.compile(r"export\{([^}]*)\};?\s*$")
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mockbroker</title>
<style>{style}</style>
</head>
<body>
<div id="console"></div>
<script id="captured" type="application/json">{captured}</script>
<script>{script}</script>
</body>
</html>
"""
_POLICY: Final = (
    "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'"
)


def whole_page(captured: dict[str, Any]) -> str:
    """The page on these answers and facts, as `capture.captured` makes them."""
    script, style = bundle(), _text("style.css")
    return _PAGE.format(
        policy=_POLICY.format(_hash(script), _hash(style)),
        style=style,
        script=script,
        # No text of a client can end the element that holds it, or begin another.
        captured=json.dumps(captured, separators=(",", ":")).replace("<", "\\u003c"),
    )


def bundle() -> str:
    """All modules as one script, each behind those that it imports from."""
    places: dict[str, str] = {}
    parts = ['"use strict";']
    _add(_ENTRY, places, parts)
    script = "\n".join(parts)
    assert "</script" not in script.lower()
    assert "<!--" not in script
    return script


def _add(name: str, places: dict[str, str], parts: list[str]) -> None:
    """Put a module behind what it needs, once; a circle would never end."""
    if name in places:
        return
    text = _text(name)
    library = _LIBRARY_EXPORT.search(text)
    if library is not None:
        pairs = [one.split(" as ") for one in library[1].split(",")]
        body = text[: library.start()]
        exported = ", ".join(f"{public}: {local}" for local, public in pairs)
    else:
        for _, source in _IMPORT.findall(text):
            _add(source, places, parts)
        exported = ", ".join(_EXPORT.findall(text))
        body = _IMPORT.sub(lambda found: f"const {{{found[1]}}} = {places[found[2]]};", text)
        body = _EXPORT.sub("", body)
    places[name] = f"module_{len(places)}"
    parts.append(f"const {places[name]} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();")


def _text(name: str) -> str:
    found = asset(name)
    assert found is not None, name
    return found.data.decode()


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
