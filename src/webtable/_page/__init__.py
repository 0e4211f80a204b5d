"""What a page is and what its response and its HTML say."""
