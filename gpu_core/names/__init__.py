"""Users' ids that are no int64: names with a key each, and the tables that distinguish them.

An engine knows int64 ids alone. Here is what makes an id of any other kind one, its *key*, and what
turns keys back: `user_ids.py` is the border, where every call of a graph passes.
"""
