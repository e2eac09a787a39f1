"""``python -m graphtide.flows`` is ``graphtide``."""

from .cli import main

main()
