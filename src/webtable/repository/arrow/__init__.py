"""Answers as Arrow record batches: which columns each kind of answer has, and how they are filled."""
