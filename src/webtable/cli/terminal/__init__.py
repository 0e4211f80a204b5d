"""How commands write: tables, lines, formats for programs, progress bars and the pager."""
