"""Steps of a batch that the host decides with: ids, vertices that come and go, repeats."""
