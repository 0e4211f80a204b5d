"""Making a web table, finding what is stored of it, and altering it: the stores see tables and cells only."""
