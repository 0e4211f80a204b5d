"""Compressed files: their members checked to the end, and where reading goes on after a damaged one."""
