"""Display of values in notebooks, terminals and HTML pages, where nothing that was crawled is executed."""

from webtable._shown.table import Marked, Shown, ShowsItself, Unbroken
from webtable._shown.text import MOST_CHARACTERS, harmless, plain_text, shown_text

__all__ = ["MOST_CHARACTERS", "Marked", "Shown", "ShowsItself", "Unbroken", "harmless", "plain_text", "shown_text"]
