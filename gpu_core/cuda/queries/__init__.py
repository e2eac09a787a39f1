"""Questions about many vertices or pairs at once, and CSR copies, on the device."""
