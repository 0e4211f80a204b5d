"""Names of a package that are imported when they are first used, so that `import webtable` takes no time.

Type checkers and editors see the imports under `TYPE_CHECKING`, as in any package.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def late(
    package: str, homes: Mapping[str, Sequence[str]], modules: Sequence[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of *package*; *homes* has the modules and the names that each defines.

    The *modules* are attributes of the package themselves.
    """
    home_of = {name: module for module, names in homes.items() for name in names}
    its = vars(sys.modules[package])

    def __getattr__(name: str) -> object:  # noqa: N807
        if name in home_of:
            its[name] = getattr(import_module(home_of[name]), name)
            return its[name]
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*its, *home_of, *modules})

    return __getattr__, __dir__
