"""Part 1, the loop by hand: a 77-thousand-parameter model learns to add digits through GRPO on a CPU.

    python -m lib.toy --plot
"""
