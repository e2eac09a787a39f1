"""What commands print: progress, warnings, the summary at the end, in plain text or as events."""
