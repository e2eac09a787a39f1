"""The process that workers of this machine are forked from: what it imports, how children end."""
