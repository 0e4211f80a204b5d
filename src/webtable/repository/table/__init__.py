"""The web table: what crawlers, notebooks and the command line hold."""
