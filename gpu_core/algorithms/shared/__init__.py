"""What several algorithms share: rows by direction, arguments, forms of results."""
