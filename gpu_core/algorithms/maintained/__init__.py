"""What follows every batch: results that are repaired where the graph has changed."""
