"""Pictures of answers, drawn by matplotlib from values that were counted before; only this package imports it."""
