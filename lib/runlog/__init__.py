"""One log format for every run of the course: rows with TRL's metric names, one row a training step."""
