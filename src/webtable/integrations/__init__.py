"""Integrations with other frameworks, each with its own extra; nothing else in webtable imports them."""
