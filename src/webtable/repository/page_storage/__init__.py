"""Pages as cells and back: the codec, the stored state of a page, the reader, and the layout of a table."""
