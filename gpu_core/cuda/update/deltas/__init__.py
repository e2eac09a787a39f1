"""Net effects of a batch as lists by row, put in order on the device."""
