"""The example that each question declares of itself, as a call, and as the words of its command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webtable.questions import Listing


def arguments_of(listing: Listing) -> dict[str, object]:
    """Return the example as arguments of the method."""
    return listing.arguments({name: [text] for name, text in listing.example.items()})


def ask_example(table, listing: Listing, **options):
    """Return the answer of *table*, of the library or for asyncio, to the example."""
    return listing.ask(table, arguments_of(listing) | options)


def words_of(listing: Listing) -> list[str]:
    """Return the example as what stands after the name of the command."""
    words = []
    for option in listing.options:
        if option.example is not None:
            flag = (option.flag or option.name).replace("_", "-")
            words += [option.example] if option.is_argument else [f"--{flag}", option.example]
    return words
