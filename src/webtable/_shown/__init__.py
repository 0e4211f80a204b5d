"""Values as notebooks, terminals and pages show them; nothing that was crawled is live in any of these."""

from webtable._shown.table import MOST_CHARACTERS, Marked, Shown, ShowsItself, harmless, shown_text

__all__ = ["MOST_CHARACTERS", "Marked", "Shown", "ShowsItself", "harmless", "shown_text"]
