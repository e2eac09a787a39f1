"""Versioned tables, Delta and Iceberg, as logs."""
