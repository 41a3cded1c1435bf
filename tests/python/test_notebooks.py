"""The notebooks of the site run, and print what is stored in them."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_stored(path: Path) -> None:
    pytest.importorskip("sklearn")
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    scope: dict[str, object] = {}
    for cell in code:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), path.name, "exec"), scope)
        stored = "".join(line for output in cell["outputs"] for line in output["text"])
        assert printed.getvalue() == stored


def test_the_gallery_shows_every_figure_and_notebook() -> None:
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\]\(([\w./]+\.(?:png|ipynb))\)", text))
    kept = {str(p.relative_to(DOCS)) for p in (*DOCS.glob("*.png"), *NOTEBOOKS)}
    assert len(NOTEBOOKS) >= 2
    assert shown == kept
