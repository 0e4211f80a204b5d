"""Answers in parts: where they are cut, and how another process asks for a part."""
