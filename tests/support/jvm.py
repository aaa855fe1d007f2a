"""How the JVMs of tests are started: Java reads `JDK_JAVA_OPTIONS` itself."""

from __future__ import annotations

SHORT_LIVED_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Most of what a JVM does in a short life is to compile, twice: this halves its processor time."""
