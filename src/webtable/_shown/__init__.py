"""Values as notebooks, terminals and pages show them; nothing that was crawled is live in any of these."""

from webtable._shown.table import Marked, Shown, ShowsItself
from webtable._shown.text import MOST_CHARACTERS, harmless, shown_text

__all__ = ["MOST_CHARACTERS", "Marked", "Shown", "ShowsItself", "harmless", "shown_text"]
