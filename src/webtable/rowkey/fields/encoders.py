"""The function that encodes a composite key, written out for its fields: as fast as one would write it by hand.

A loop over the parts takes two to five times as long. The function is put together as text and compiled once a key, as
`dataclasses` and `namedtuple` do it; the text holds names that were checked and numbers, never a value. Names of its
own begin with `_`, as no field's name does.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from webtable.rowkey.fields.field import NOT_GIVEN, Part
from webtable.rowkey.fields.text import Constant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


DOCSTRING = """Return the row key of the values, which are given by name, 1 to 16,384 bytes long.

Raises `FieldError` for a value that a field cannot hold or that is missing, and `UnknownField`.
"""


def compiled(
    parts: Sequence[Part],
    most: int,
    complain: Callable[[dict[str, Any], dict[str, Any]], None],
    then: Callable[[bytes], bytes] | None = None,
) -> Callable[..., bytes]:
    """Return a function of keyword arguments, one for each value that *parts* take, that returns the key.

    Where it fails, where an argument is unknown, and where the key is empty or longer than *most* bytes, *complain* is
    called with the values and the unknown arguments, to raise the error that says why. *then* is applied to the key.
    """
    names = list(dict.fromkeys(name for part in parts for name in part.takes))
    scope: dict[str, Any] = {
        "_NOT_GIVEN": NOT_GIVEN,
        "_complain": complain,
        "_len": len,
        "_Exception": Exception,
        "_then": then,
    }
    pieces = [_expression(run, scope) for run in _runs(parts)]
    values = ", ".join(f"{name!r}: {name}" for name in names)
    fits = all(part.width is not None for part in parts) and sum(part.width or 0 for part in parts) <= most
    text = "\n".join(
        [
            f"def encode({', '.join(['*', *(f'{name}=_NOT_GIVEN' for name in names), '**_unknown'])}):"
            if names
            else "def encode(**_unknown):",
            "    if _unknown:",
            f"        _complain({{{values}}}, _unknown)",
            "    try:",
            f"        {'return' if fits and then is None else '_key ='} {' + '.join(pieces)}",
            "    except _Exception:",
            f"        _complain({{{values}}}, _unknown)",
            "        raise",
            *([] if fits else [f"    if not 0 < _len(_key) <= {most}:", f"        _complain({{{values}}}, _unknown)"]),
            "    return _key" if then is None else "    return _then(_key)",
        ]
    )
    exec(text, scope)  # noqa: S102 - see above
    encode: Callable[..., bytes] = scope["encode"]
    encode.__doc__ = DOCSTRING
    encode.__module__ = "webtable.rowkey"
    return encode


def _runs(parts: Sequence[Part]) -> list[list[Part]]:
    """Return *parts* with neighbours that `struct` can pack in one go together."""
    runs: list[list[Part]] = []
    for part in parts:
        if runs and part.packing() and runs[-1][0].packing():
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def _expression(run: Sequence[Part], scope: dict[str, Any]) -> str:
    """Return what makes the bytes of *run*; the constants and functions in it are put into *scope*."""

    def constant(value: Any) -> str:
        name = f"_constant_{len(scope)}"
        scope[name] = value
        return name

    packings = [part.packing() for part in run]
    numbers = [
        packing.number.format(value=part.takes[0], **{k: constant(v) for k, v in packing.constants.items()})
        for part, packing in zip(run, packings, strict=True)
        if packing is not None
    ]
    if numbers:
        pack = struct.Struct(">" + "".join(packing.code for packing in packings if packing is not None)).pack
        return f"{constant(pack)}({', '.join(numbers)})"
    (part,) = run
    if isinstance(part, Constant):
        return repr(part.value)
    return f"{constant(part.encoder())}({', '.join(part.takes)})"
