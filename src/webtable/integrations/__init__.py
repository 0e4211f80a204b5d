"""webtable in frameworks of others, each behind its own extra; imported by nobody here."""
