"""Host twins of components, communities and cores."""
