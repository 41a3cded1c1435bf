"""``python -m renyi`` is the ``renyi`` command."""

from renyi.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
