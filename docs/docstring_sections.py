"""An extension of griffe, which reads docstrings for the site and the reference: it gives those of functions sections.

Parameters come from the signature, with types and defaults, and with the sentences that begin with them, or what their
name and type mean in many functions; Returns from the annotation; Raises from sentences about errors; Example is what
begins with `>>>`. Other sentences stay as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import griffe

if TYPE_CHECKING:
    from collections.abc import Iterator

_SENTENCE = re.compile(r"(?<=[.])\s+(?=[A-Z*`])")
_NAMES = re.compile(r"(?:[*`]{1,2}(\w+)[*`]{1,2}(?:, | and |, and )?)+")
_NAME = re.compile(r"[*`]{1,2}(\w+)[*`]{1,2}")
_RAISES = re.compile(r"^Raises |^`\w+`(?:(?:,| and| or) `\w+`)* (?:is|are) raised\b")
_ITEM = re.compile(r"^- (?=[*`])", re.MULTILINE)


# What many functions take, by name and type: sentences of their own say more, where there are any.
_COMMON = {
    ("site", "Site"): "which pages: a host with all hosts below it, a directory, one port, `HostOnly(…)`, or `ALL`.",
    ("site", "Site | None"): "which pages, as a host, a directory, `HostOnly(…)` or `ALL`; None is all of the table.",
    ("url", "str"): "the URL of a page; it is brought into its canonical form.",
    ("urls", "URLFilter | None"): "which URLs are wanted, of those that would be in the answer.",
    ("limit", "int | None"): "the most results; None is all of them.",
    ("order", "str"): "the order of the results; `InvalidArgument` names those that there are.",
    ("after", "str | None"): "the token (`next_token`) of a batch: the results after it come.",
    ("columns", "Sequence[str] | None"): "the names of the columns that are read and shown; None is the usual ones.",
    ("dry_run", "bool"): "whether nothing is written, and the same returned.",
    ("workers", "int"): "how many processes do the work.",
    ("threads", "int"): "how many threads do the work.",
    ("on_progress", "Progress | None"): "called now and then with the number of rows so far.",
    ("resume", "str | PathLike[str] | None"): "a file in which the state is kept, so that the same call goes on.",
    ("since", "Moment | None"): "the first moment of the time range; None has no beginning.",
    ("until", "Moment | None"): "the end of the time range, which is not in it; None is now.",
    ("as_of", "Moment | None"): "the moment as of which it is answered; None is now.",
    ("timeout", "float"): "seconds that the call may take.",
    ("timeout", "float | None"): "seconds that the call may take; None is the time of the store.",
    ("kinds", "LinkKinds"): "the kinds of links that count.",
    ("max_depth", "int | None"): "the most links from where the crawl began; None has no limit.",
    ("at_least", "float"): "the least share of their text that two pages have in common, from 0 to 1.",
    ("limits", "ReadLimits"): "how much a file, a record and a page may take, in bytes and seconds.",
    ("table", "WebTable"): "the table that is read.",
}


class DocstringSections(griffe.Extension):
    """Puts Parameters, Returns, Raises and Example into the docstrings of functions and methods."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Change the docstring of *func*."""
        if func.docstring is not None and not func.name.startswith("_"):
            func.docstring.value = with_sections(func, func.docstring.value)


def with_sections(function: griffe.Function, docstring: str) -> str:
    """Return the *docstring* of a function with its sections, in Markdown."""
    own = [parameter for parameter in function.parameters if parameter.name not in ("self", "cls")]
    description: list[str] = []
    about: dict[str, list[str]] = {parameter.name.lstrip("*"): [] for parameter in own}
    raises: list[str] = []
    examples: list[str] = []
    for block in _blocks(docstring):
        if block.startswith("```"):
            (examples if block.startswith("```pycon") else description).append(block)
        elif _ITEM.match(block):
            items = [_ITEM.sub("", item) for item in re.split(r"\n(?=- )", block)]
            others = [item for item in items if not _given_to(about, item)]
            description += ["\n".join(f"- {item}" for item in others)] if others else []
        else:
            left = []
            for number, sentence in enumerate(_SENTENCE.split(block)):
                if _RAISES.match(sentence):
                    raises.append(sentence)
                # The first sentence of all says what a caller gets.
                elif not (description or number) or not _given_to(about, sentence):
                    left.append(sentence)
            description += [" ".join(left)] if left else []
    for parameter in own:
        if not about[parameter.name.lstrip("*")] and (text := _COMMON.get((parameter.name, str(parameter.annotation)))):
            about[parameter.name].append(text)
    _refer(about, " ".join(description), function.parent)
    parts = [*description, *_parameters(own, about), *_returns(function)]
    if raises:
        parts.append("**Raises**\n\n" + "\n".join(f"- {_joined(sentence)}" for sentence in raises))
    if examples:
        parts.append("**Example**\n\n" + "\n\n".join(examples))
    return "\n\n".join(parts)


def _blocks(text: str) -> Iterator[str]:
    """Yield the paragraphs, lists and fenced blocks of *text*."""
    for number, block in enumerate(re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)):
        if number % 2:
            yield block
        else:
            yield from (part.strip("\n") for part in re.split(r"\n\s*\n", block) if part.strip())


def _given_to(about: dict[str, list[str]], sentence: str) -> bool:
    """Whether *sentence* begins with names of parameters: it is then given to the first, and the others refer to it."""
    names = _NAMES.match(sentence)
    found = [name for name in _NAME.findall(names[0]) if name in about] if names else []
    if not found:
        return False
    about[found[0]].append(_joined(sentence))
    for other in found[1:]:
        about[other].append(f"see `{found[0]}`.")
    return True


def _refer(about: dict[str, list[str]], description: str, parent: griffe.Object | None) -> None:
    """Have parameters without a sentence refer to where they are explained: another one, the description, the class."""
    told = {name: " ".join(said) for name, said in about.items()}
    of_class = parent.docstring.value if parent is not None and parent.is_class and parent.docstring else ""
    for name, said in about.items():
        mark = re.compile(rf"[*`]{name}[*`]")
        if said:
            continue
        if parent is not None and re.search(rf"[*]{name}[*]:", of_class):
            said.append(f"see `{parent.name}`.")
        elif other := next((other for other, text in told.items() if mark.search(text)), None):
            said.append(f"see `{other}`.")
        elif mark.search(description):
            said.append("see above.")
        elif mark.search(of_class) and parent is not None:
            said.append(f"see `{parent.name}`.")


def _parameters(parameters: list[griffe.Parameter], about: dict[str, list[str]]) -> Iterator[str]:
    if parameters:
        yield "**Parameters**\n\n" + "\n".join(
            f"- `{_declared(parameter)}`" + "".join(f": {' '.join(said)}" for said in [about[parameter.name]] if said)
            for parameter in parameters
        )


def _declared(parameter: griffe.Parameter) -> str:
    stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(parameter.kind, "")
    text = f"{stars}{parameter.name}" + (f": {parameter.annotation}" if parameter.annotation else "")
    return text if parameter.default is None or stars else f"{text} = {parameter.default}"


def _returns(function: griffe.Function) -> Iterator[str]:
    if function.returns is not None and str(function.returns) != "None":
        yield f"**Returns** `{function.returns}`"


def _joined(sentence: str) -> str:
    return " ".join(sentence.split())
