"""The commands that ask: about pages, sites, links, words, and reports."""
