"""Answers: lazy results with tokens, their columns, and how they become tables."""
