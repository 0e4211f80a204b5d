"""Answers: lazy results with tokens, their columns, and their conversion to tables."""
