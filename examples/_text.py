"""Text that comes with Python: its reference, which is public, and docstrings of its library."""

from __future__ import annotations

import ast
import functools
import importlib
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["CHARACTERS", "docstrings", "reference", "shown"]

Tokens = npt.NDArray[np.int64]

CHARACTERS = 96  # a new line, and those of ASCII that are printed


def tokens_of(text: str) -> Tokens:
    """Return a number in [0, 96) for each character; spaces for what is not ASCII."""
    codes = np.frombuffer(text.encode("ascii", "replace"), np.uint8).astype(np.int64)
    return np.where(codes == ord("\n"), 0, np.clip(codes - 31, 1, CHARACTERS - 1))


def shown(tokens: Tokens) -> str:
    """Return the text of tokens."""
    return "".join("\n" if token == 0 else chr(token + 31) for token in tokens)


def reference() -> Tokens:
    """Return the language reference, as `help` shows it by topics."""
    topics = importlib.import_module("pydoc_data.topics").topics
    return tokens_of("\n".join(topics[name] for name in sorted(topics)))


def docstrings(length: int) -> Tokens:
    """Return the first characters of docstrings that are so long: (records, length).

    A record is the docstring of one module, class or function; equal ones are one record.
    """
    found = {text[:length] for text in _docstrings() if len(text) >= length}
    return np.stack([tokens_of(text) for text in sorted(found)])


@functools.cache
def _docstrings() -> list[str]:
    return list(_parsed())


def _parsed() -> Iterator[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted([*library.glob("*.py"), *library.glob("[a-z]*/*.py")]):
        if path.parent.name in ("test", "site-packages", "dist-packages"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8", "replace"))):
            if isinstance(node, kinds):
                yield ast.get_docstring(node) or ""
