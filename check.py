"""Grades a homework from the top level:  python check.py s6-hw02-grpo"""
import runpy
from pathlib import Path

if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).resolve().parent / "homework" / "check.py"), run_name="__main__")
