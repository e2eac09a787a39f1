"""Rows on pages, of the layouts `chain` and `tree`: planned, merged and written."""
