"""Archives of the captures of a table: WARC files, their index, and WACZ."""
