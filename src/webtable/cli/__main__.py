"""`python -m webtable.cli`."""

from webtable.cli import main

if __name__ == "__main__":
    main()
