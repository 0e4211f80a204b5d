"""Exports: the captures of a table as files of limited size in a directory, with a manifest to check and read them."""
