"""One module for each workload that this client draws, named as the workload with ``_`` for ``-``."""
