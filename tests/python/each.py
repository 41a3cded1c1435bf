"""Points of tests: many small ones in one case, and those that take long."""

import functools
import inspect
import re

import pytest


def slow(*points):
    """Return points of pytest.mark.parametrize that run with -m slow."""
    tuples = (point if isinstance(point, tuple) else (point,) for point in points)
    return [pytest.param(*point, marks=pytest.mark.slow) for point in tuples]


def refusals(rows):
    """Return points of parametrize: call, error and words, from (call, words) by error."""
    return [(call, error, words) for error, given in rows.items() for call, words in given]


def refused(rows, ask=lambda act: act(), *, literally=False):
    """Return a test that each row, called or given to ask, raises its error with its words."""

    @pytest.mark.parametrize(("given", "error", "words"), refusals(rows))
    def test(given, error, words):
        with pytest.raises(error, match=re.escape(words) if literally else words):
            ask(given)

    return test


def each(names, points):
    """Parametrise a test as pytest does, in one case; a failure notes the point it is of."""
    names = names.split(", ") if isinstance(names, str) else list(names)

    def decorate(test):
        @functools.wraps(test)
        def run(**others):
            for point in points:
                given = dict(zip(names, point if len(names) > 1 else [point], strict=True))
                try:
                    test(**given, **others)
                except BaseException as error:
                    error.add_note(f"at {given}")
                    raise

        left = inspect.signature(test).parameters.items()
        run.__signature__ = inspect.Signature([p for name, p in left if name not in names])
        return run

    return decorate
