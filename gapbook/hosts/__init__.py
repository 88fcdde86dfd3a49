"""A campaign on many machines: Dask's scheduler gives each session to a machine that is free for it alone."""
