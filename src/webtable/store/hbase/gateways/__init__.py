"""Gateways: retries of calls, selection among several gateways, and the cool-down of those that fail."""
