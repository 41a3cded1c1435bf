"""Many small points in one test case."""

import functools
import inspect


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
