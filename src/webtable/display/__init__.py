"""Display of values in notebooks, terminals and HTML pages, where nothing that was crawled is executed."""

from webtable.display.markup import Marked, Shown, ShowsItself, Unbroken
from webtable.display.text import MOST_CHARACTERS, harmless, plain_text, shown_text

__all__ = ["MOST_CHARACTERS", "Marked", "Shown", "ShowsItself", "Unbroken", "harmless", "plain_text", "shown_text"]
