"""Which files a log has, by its addresses: how they are found, named and ordered."""
