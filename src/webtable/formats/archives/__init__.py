"""Tables out as archives: WARC files, their index, and WACZ."""
