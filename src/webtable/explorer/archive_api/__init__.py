"""The protocols of web archives over the stored versions of pages, beside the explorer: CDX and Memento."""
