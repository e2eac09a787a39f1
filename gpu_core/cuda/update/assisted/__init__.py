"""Steps of a batch that need decisions of the host: new ids, deleted vertices, repeated edges."""
