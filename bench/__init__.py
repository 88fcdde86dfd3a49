"""The project's own speed against its peers, as ratios of alternating runs; see README.md."""
