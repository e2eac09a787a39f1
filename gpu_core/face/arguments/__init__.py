"""What the calls of a graph take, checked: settings, ids, rows, pairs, values of vertices."""
