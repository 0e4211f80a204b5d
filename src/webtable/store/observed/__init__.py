"""What a store was asked: calls counted, measured, and reported to a listener."""
