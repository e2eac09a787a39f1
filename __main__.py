"""``python -m graphtide`` is ``graphtide``."""

from .flows.start import main

main()
