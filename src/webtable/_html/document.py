"""The frame of a page that needs no other file, script or font."""

from __future__ import annotations

# Nothing in such a page is fetched or run, whatever should get into it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def document(title: str, style: str, scope: str, body: str) -> str:
    """Return an HTML page with *body* in its main element, which has the class *scope*; all of them are markup."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<main class="{scope}">\n{body}</main>\n</body>\n</html>\n'
    )
