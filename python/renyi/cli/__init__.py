"""The ``renyi`` command: privacy guarantees from a shell.

``main`` reads the arguments, runs one command and returns the exit code: 0 for success, 1 when
``renyi verify`` finds a violation, 2 for bad input (one line on stderr, no traceback), 3 where a
budget or a limit is exceeded, 4 where the output cannot be written, 130 where it was interrupted.
"""

import codecs
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from renyi._validation import visible
from renyi.cli.commands import parse
from renyi.cli.options import OutputError, UsageError, as_options

__all__ = ["main"]

UNWRITABLE = 4
WORDS = {
    "ε": "epsilon",
    "δ": "delta",
    "α": "alpha",
    "β": "beta",
    "ρ": "rho",
    "σ": "sigma",
    "μ": "mu",
    "é": "e",
    "≤": "<=",
    "≥": ">=",
    "×": "x",
    "−": "-",
    "–": "-",
    "…": "...",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (default: ``sys.argv[1:]``) and return the exit code.

    >>> main(["steps", "--noise-multiplier", "1", "--sample-rate", "2"])
    2
    """
    name = "renyi"
    _write_any_text()
    try:
        try:
            options = parse(sys.argv[1:] if argv is None else argv)
        except SystemExit as stop:  # argparse: --help and --version stop with 0
            if sys.stdout is not None:
                sys.stdout.flush()
            return int(stop.code or 0)
        name = options.parser.prog
        if options.run is None:
            options.parser.print_help(sys.stderr)
            return 2
        module, _, function = options.run.partition(".")
        run = getattr(import_module(f"renyi.cli.{module}"), function)
        if sys.stdout is None:
            raise OutputError("the standard output is closed")
        code = int(run(options))
        sys.stdout.flush()
        return code
    except (UsageError, ValueError, TypeError) as error:
        if not isinstance(error, UsageError) and os.environ.get("RENYI_TRACEBACK"):
            raise
        print(f"{name}: error: {visible(as_options(str(error)))}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as "head", has closed the pipe
        _discard_output()
        return 0
    except (OutputError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        print(f"{name}: error: cannot write: {reason}", file=sys.stderr)
        _discard_output()
        return UNWRITABLE
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130


def _in_words(error: UnicodeError) -> tuple[str, int]:
    """Spell characters that an encoding lacks: an error handler of codecs."""
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    escaped = (WORDS.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking)
    return "".join(escaped), error.end


def _write_any_text() -> None:
    """Let streams write any text in any encoding: reports have Greek letters."""
    codecs.register_error("renyi", _in_words)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors="renyi")


def _discard_output() -> None:
    """Discard the buffered output, so that the end of the program does not fail."""
    with suppress(AttributeError, OSError):  # there may be none, or none with a number
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
