"""`python -m smith_server` is the same as the command `smith`."""

from smith_server.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
