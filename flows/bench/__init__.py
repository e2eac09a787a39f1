"""``graphtide bench``: what this machine reaches, beside what packages of others reach on it."""
