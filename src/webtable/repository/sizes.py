"""Classes of sizes in bytes, each twice as wide as the one before: what the sizes of pages are counted by."""

from __future__ import annotations

NO_BODY = "no body"
"""The class of the pages without a body."""
_SMALLEST = 7
_LARGEST = 62
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def size_class(size: int | None) -> int:
    """Return the number of the class that *size* is in; 0 for no body.

    >>> [size_class(size) for size in (None, 0, 127, 128, 1023, 1024)]
    [0, 7, 7, 8, 10, 11]
    """
    return 0 if size is None else min(max(size.bit_length(), _SMALLEST), _LARGEST)


def size_name(number: int) -> str:
    """Return what a class is called.

    >>> [size_name(number) for number in (0, 7, 8, 10, 11, 21)]
    ['no body', 'under 128 bytes', '128 to 256 bytes', '512 bytes to 1 KiB', '1 to 2 KiB', '1 to 2 MiB']
    """
    if number == 0:
        return NO_BODY
    (low, unit), (high, other) = _amount(number - 1), _amount(number)
    if number == _SMALLEST:
        return f"under {high} {other}"
    return f"{low} to {high} {unit}" if unit == other else f"{low} {unit} to {high} {other}"


def bounds_of(name: str) -> tuple[int, int]:
    """Return from which size on, and below which one, the class *name* is; raises `KeyError` for what is none.

    >>> bounds_of("1 to 2 KiB"), bounds_of("under 128 bytes")
    ((1024, 2048), (64, 128))
    """
    number = _NUMBERS[name]
    return 1 << (number - 1), 1 << number


def power_text(size: float) -> str:
    """Return a power of two as text.

    >>> power_text(512), power_text(2**20)
    ('512 bytes', '1 MiB')
    """
    return "{} {}".format(*_amount(int(size).bit_length() - 1))


def _amount(power: int) -> tuple[int, str]:
    return 1 << power % 10, _UNITS[power // 10]


_NUMBERS = {size_name(number): number for number in range(_SMALLEST, _LARGEST + 1)}
