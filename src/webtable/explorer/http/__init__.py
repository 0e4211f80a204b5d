"""Responses of a server that only reads a table: who may ask, what is read, and how bytes are sent as they are made."""
