"""The creation and alteration of web tables, and what is stored of one: its layout and the states of its indexes."""
