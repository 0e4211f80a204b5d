"""Writes docs/api: the reference of all public names as Markdown, made from signatures and docstrings.

The pages of docs/reference name what is public, for the site; here each of these names is written out, so that it can
be read in a checkout, and by `webtable help`. Run it after a change of a public name: python docs/make_reference.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import griffe
from docstring_sections import DocstringSections
from fenced_doctests import FencedDoctests

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "reference"
FOLDER = ROOT / "docs" / "api"
NOTE = "<!-- docs/make_reference.py writes this page, from signatures and docstrings. -->"
_NAME = re.compile(r"^::: (\S+)(?:\n {4}.*|\n(?= {4}))*", re.MULTILINE)
_LINE = 100
_HEADING = re.compile(r"^(#+ )", re.MULTILINE)
_LINK = re.compile(r"\]\((\w+\.md)")


def pages() -> dict[str, str]:
    """Return the text of each page, by its name."""
    extensions = griffe.Extensions(FencedDoctests(), DocstringSections())
    loader = griffe.GriffeLoader(search_paths=[ROOT / "src"], extensions=extensions)
    package = loader.load("webtable")
    loader.load("collections", try_relative_path=False)  # aliases of named tuples lead there
    loader.resolve_aliases(implicit=True, external=False)
    texts = {path.name: text for path in sorted(PAGES.glob("*.md")) if _NAME.search(text := path.read_text())}

    def linked(link: re.Match[str]) -> str:
        return link[0] if link[1] in texts else f"](../reference/{link[1]}"

    return {
        name: _LINK.sub(linked, _NAME.sub(lambda name: "\n".join(_object(package, name[1])), text)) + f"\n{NOTE}\n"
        for name, text in texts.items()
    }


def _object(package: griffe.Module, path: str) -> Iterator[str]:
    """Yield the lines of the object at *path*, with its public members."""
    found = package[path.removeprefix("webtable.")]
    found = found.final_target if found.is_alias else found
    if found.is_module:
        for member in found.members.values():
            if not member.is_alias and member.is_class and member.is_public:
                yield from _object(package, f"{path}.{member.name}")
        return
    yield from _written(found, path, "###")
    for member in found.members.values() if found.is_class else ():
        is_public = member.is_public and not member.name.startswith("_") and member.docstring
        if not member.is_alias and (is_public or _is_abstract(member)):
            yield from _written(member, f"{path.rpartition('.')[2]}.{member.name}", "####")


def _is_abstract(member: griffe.Object | griffe.Alias) -> bool:
    """Whether *member* is a method that a class of one's own must have, as those of a store do."""
    return member.is_function and any(mark.callable_path == "abc.abstractmethod" for mark in member.decorators)


def _is_field(member: griffe.Object | griffe.Alias) -> bool:
    """Whether *member* has a type and no docstring: that of the class explains it, where its name does not."""
    return bool(
        not member.is_alias
        and member.is_attribute
        and member.is_public
        and not member.name.startswith("_")
        and not member.docstring
        and str(member.annotation or "Final") != "Final"
    )


def _field(member: griffe.Object | griffe.Alias) -> str:
    # What a method assigns to an instance is an expression of that method, and no default.
    return _signature(member) if "class-attribute" in member.labels else f"{member.name}: {member.annotation}"


def _written(found: griffe.Object | griffe.Alias, name: str, level: str) -> Iterator[str]:
    yield f"{level} {name}\n"
    if signature := _signature(found):
        yield f"```py\n{signature}\n```\n"
    if found.docstring is not None:
        # Headings of a docstring would be those of the page.
        yield _HEADING.sub(r"\\\1", found.docstring.value) + "\n"


def _signature(found: griffe.Object | griffe.Alias) -> str:
    """Return how *found* is called, or what it is, as in the source."""
    name = found.name
    if found.is_attribute:
        value = "" if found.value is None or len(str(found.value)) > _LINE else f" = {found.value}"
        return f"{name}: {found.annotation}{value}" if found.annotation else f"{name}{value}"
    if found.is_class:
        parameters = [parameter for parameter in found.parameters if parameter.name != "self"]
        bases = ", ".join(map(str, found.bases))
        head = f"class {name}({bases})" if bases else f"class {name}"
        if fields := [_field(member) for member in found.members.values() if _is_field(member)]:
            head += ":\n" + "".join(f"    {line}\n" for line in fields)
        return f"{head}\n{_call(name, parameters)}" if parameters else head
    if found.is_function:
        parameters = [parameter for parameter in found.parameters if parameter.name not in ("self", "cls")]
        prefix = "async " if "async" in found.labels else ""
        return f"{prefix}{_call(name, parameters)}" + (f" -> {found.returns}" if found.returns else "")
    return ""


def _call(name: str, parameters: list[griffe.Parameter]) -> str:
    texts, is_keyword = [], False
    for parameter in parameters:
        kind = parameter.kind
        if kind is griffe.ParameterKind.keyword_only and not is_keyword:
            texts.append("*")
        is_keyword = is_keyword or kind in (griffe.ParameterKind.keyword_only, griffe.ParameterKind.var_positional)
        stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(kind, "")
        text = stars + parameter.name + (f": {parameter.annotation}" if parameter.annotation else "")
        if parameter.default is not None and not stars:
            text += f" = {parameter.default}" if parameter.annotation else f"={parameter.default}"
        texts.append(text)
    line = f"{name}({', '.join(texts)})"
    return line if len(line) <= _LINE else f"{name}(\n" + "".join(f"    {text},\n" for text in texts) + ")"


def main() -> None:
    """Write the pages, and remove those of names that are gone."""
    FOLDER.mkdir(exist_ok=True)
    made = pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
