"""``python -m llpe.cli`` is ``llpe``."""

from llpe.cli import main

if __name__ == "__main__":
    main()
