"""Allow ``python -m unispectral``."""

from unispectral.cli import main

main()
