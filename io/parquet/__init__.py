"""Parquet files of a log: footers and pages, checked, and read without copies where they allow it."""
