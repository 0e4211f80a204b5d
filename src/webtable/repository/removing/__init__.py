"""Deleting pages one by one or many at once, erasing a domain, and giving space back."""
