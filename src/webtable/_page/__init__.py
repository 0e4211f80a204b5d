"""Pages as values, and what their responses and their HTML say."""
