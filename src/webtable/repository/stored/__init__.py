"""Pages as cells and back: the codec, what is stored of a page, and rows that are damaged."""
