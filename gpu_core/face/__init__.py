"""The calls of a graph, by what they are about: what `DynamicGraph` and `Epoch` are made of."""
