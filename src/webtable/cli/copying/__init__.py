"""The commands that take captures elsewhere: `copy`, `export` and `backup`."""
