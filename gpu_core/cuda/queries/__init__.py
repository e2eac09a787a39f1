"""Bulk queries about vertices and pairs, and CSR copies, on the device."""
