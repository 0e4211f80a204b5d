"""The commands that store pages out of files: `ingest` and `import`."""
