"""Published claims on a page, each with its verdict and what was measured for it."""
