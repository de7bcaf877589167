"""Stops with one sentence where this Python is none that the course's packages exist for."""
import sys

OLDEST, NEWEST = (3, 11), (3, 14)   # keep in step with requires-python in pyproject.toml

if not OLDEST <= sys.version_info[:2] <= NEWEST:
    versions = ", ".join("3.%d" % minor for minor in range(OLDEST[1], NEWEST[1] + 1))   # noqa: UP031  runs on any Python 3
    sys.exit("This is Python %d.%d; the course needs one of %s: make lab PYTHON=python3.12\n"   # noqa: UP031
             "Это Python %d.%d, курсу нужен один из %s: make lab PYTHON=python3.12" % (
                 sys.version_info[0], sys.version_info[1], versions, sys.version_info[0], sys.version_info[1], versions))
