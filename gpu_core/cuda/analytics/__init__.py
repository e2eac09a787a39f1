"""Inner loops of the algorithms on the device."""
