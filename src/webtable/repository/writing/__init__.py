"""Writing pages: a buffer, batches that are decided, packed and put, and the outcome of each page."""
