"""Fields of frozen values, checked and set while the values are made."""

from renyi._validation import Range, integer_of, number_in


def set_fields(frozen: object, **fields: object) -> None:
    """Set fields of a frozen value while it is made."""
    for name, value in fields.items():
        object.__setattr__(frozen, name, value)


def set_numbers(frozen: object, **ranges: Range) -> None:
    """Check that fields are numbers, each in its range, and set them."""
    for name, range_ in ranges.items():
        value = getattr(frozen, name)
        if not (type(value) is float and value and range_.low < value < range_.high):
            object.__setattr__(frozen, name, number_in(value, name, range_))


def set_integers(frozen: object, **least: int) -> None:
    """Check that fields are integers, each at least its bound, and set them."""
    for name, low in least.items():
        object.__setattr__(frozen, name, integer_of(getattr(frozen, name), name, low))
