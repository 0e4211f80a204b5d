"""The repository: pages in, pages out, over the store port. Its public names are in the modules of `webtable`."""
