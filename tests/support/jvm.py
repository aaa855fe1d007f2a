"""How the JVMs of tests are started: Java reads `JDK_JAVA_OPTIONS` itself."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

TOKEN_FILE = Path(tempfile.gettempdir()) / f"mockbroker-tests-{os.getpid()}.jwt"
"""Where Kafka's clients of this run may read a token: their JVM is told when it starts."""
ALLOWED_URLS = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=file:{TOKEN_FILE}"
SHORT_LIVED_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Most of what a JVM does in a short life is to compile, twice: this halves its processor time."""
