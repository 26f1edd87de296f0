"""The benchmark: suites, one for each table or figure of the paper, run as a grid and rendered from its results."""
