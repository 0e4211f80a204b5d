"""`python -m webtable`, for where the program `webtable` is not on the PATH."""

from webtable.cli import main

if __name__ == "__main__":
    main()
