"""Sorts on the device."""
