"""Allow ``python -m unispectral.cli``."""

from unispectral.cli import main

main()
