"""How commands write: tables, lines, formats for programs and progress bars."""
