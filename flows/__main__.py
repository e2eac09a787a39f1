"""``python -m graphtide.flows`` is ``graphtide``."""

from .start import main

main()
