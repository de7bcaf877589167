"""The frameworks: a tiny language model for CPUs, GRPO with TRL, what a run needs of a machine."""
