"""The geometry of a run: how broad its supervision was, how much of it the student could reach, where the rest lies."""
