"""What writers keep in other rows for the questions, and repair: entries, inlinks, counts, the queue of what to count.

Each is a hint: the page which it names confirms it or not, and readers drop what is not confirmed.
"""
