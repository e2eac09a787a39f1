"""Tables of versions, Delta and Iceberg, as logs."""
