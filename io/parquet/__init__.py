"""Parquet files of a log: footers and pages, checked, and read without a copy if possible."""
