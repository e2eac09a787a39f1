"""Files in and out: the update log, the state directory, results. Knows no cluster and no GPU."""

if __name__ == "io":
    msg = (
        "the graphtide checkout is on PYTHONPATH, where its io/ folder hides Python's own io; "
        "remove it from PYTHONPATH and run `pip install -e .` instead"
    )
    raise ImportError(msg)
