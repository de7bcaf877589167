"""GRPO by hand: the code that the course explains, runs and grades with."""
