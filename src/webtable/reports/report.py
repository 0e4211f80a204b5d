"""What all reports have in common: sections, and how notebooks and terminals show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._shown import Shown, ShowsItself

if TYPE_CHECKING:
    from webtable.reports.section import Section


class Report(ShowsItself):
    """A report on the site of `domain`, with its findings in `sections`."""

    __slots__ = ()

    domain: str
    sections: tuple[Section, ...]

    def __repr__(self) -> str:
        told = ", ".join(f"{one.name} {'–' if one.left_out else one.count}" for one in self.sections)
        return f"<{type(self).__name__} of {self.domain}: {told}>"

    def _shown(self) -> Shown:
        """Return how many there are of each finding."""
        rows = [(one.title, None if one.left_out else one.count, one.left_out or one.about) for one in self.sections]
        note = ".html() is the page, .to_dict() all that it holds"
        return Shown(f"{type(self).__name__} of {self.domain}", ("finding", "found", "what it is"), rows, note)
