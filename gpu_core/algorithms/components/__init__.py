"""Which vertices belong together: components, communities, cores."""
