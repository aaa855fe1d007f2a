"""`python -m mockbroker`: the command line."""

from mockbroker.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
