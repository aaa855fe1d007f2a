"""`python -m mockbroker.pipeline JOB …`, and the script that spark-submit is given."""

from __future__ import annotations

import sys

from mockbroker.pipeline.command import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
