"""Derived data, which writers keep in other rows than the page: index entries, inlinks, counts, the queue of recounts.

Derived data is never trusted: readers check it against the page that it names, and drop it if the page disagrees.
"""
