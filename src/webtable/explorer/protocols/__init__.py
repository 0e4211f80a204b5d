"""The protocols of web archives over the stored versions of pages, and a description of all that programs can ask."""
