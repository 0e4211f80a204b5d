"""The commands that answer questions about pages, sites, links and words, and write reports."""
