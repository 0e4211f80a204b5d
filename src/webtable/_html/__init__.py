"""What all pages are made with that webtable writes: their look, their text, and links that are safe to follow."""

from webtable._html.document import document
from webtable._html.style import DARK, LIGHT, RULES, page_rules, scoped
from webtable._html.text import escaped, shortened, web_link

__all__ = ["DARK", "LIGHT", "RULES", "document", "escaped", "page_rules", "scoped", "shortened", "web_link"]
