"""The link graph: a page's outlinks are the truth, the inlinks of the pages that they lead to are kept from them."""
