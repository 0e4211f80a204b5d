"""The commands that bring captures elsewhere: `copy`, `export` and `backup`."""
