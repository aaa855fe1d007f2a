"""How soon others know that a high watermark has moved, by Fetch v17 and v18 (KIP-1166).

scripts/bench/hwm [--rounds N] [--markdown]           followers of a partition
scripts/bench/hwm --raft [--rounds N] [--markdown]    an observer of the metadata log
"""

from __future__ import annotations

import argparse
import shutil
import subprocess

from scripts.bench import peers, raft_watermark, replica_watermark


def main() -> None:
    described = [__doc__, replica_watermark.__doc__, raft_watermark.__doc__]
    parser = argparse.ArgumentParser(description="\n".join(text or "" for text in described))
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--raft", action="store_true", help="an observer of the metadata log")
    parser.add_argument("--rounds", type=int, default=100, help="moves a version (default 100)")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be 1 or more")
    if not arguments.raft:
        replica_watermark.run(arguments.rounds, markdown=arguments.markdown)
        return
    if not shutil.which("javac"):
        parser.error("needs a JDK of 17 or newer (javac), and Maven the first time")
    subprocess.run([str(peers.ROOT / "scripts" / "kafka"), "fetch"], check=True)
    raft_watermark.run(arguments.rounds, markdown=arguments.markdown)


if __name__ == "__main__":
    main()
