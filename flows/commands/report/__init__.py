"""``graphtide report``: one HTML file on a state, for people who were not there."""
