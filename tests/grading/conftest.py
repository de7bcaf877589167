"""A grader run as a user runs it, and the reference solution."""
import json
import os
import subprocess
import sys

import pytest
from solved import HOMEWORK, ROOT, reference_source

from lib.grading.sandbox import bwrap_problem


@pytest.fixture(scope="session")
def reference() -> str:
    return reference_source()


@pytest.fixture
def submit(tmp_path):
    """submit(source, *flags) -> (exit code, report, what was printed): a real run of check.py."""

    def run(source, *flags, name="sub.py", isolation="bwrap"):
        if isolation == "bwrap" and bwrap_problem() and not os.environ.get("CI"):
            pytest.skip(bwrap_problem())
        file = tmp_path / name
        file.write_bytes(source) if isinstance(source, bytes) else file.write_text(source, encoding="utf-8")
        report = tmp_path / "report.json"
        report.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, ROOT / "homework" / "check.py", HOMEWORK, "--submission", file, "--isolation", isolation,
             "--json", report, *flags], capture_output=True, text=True, timeout=300,
            env={**os.environ, "COURSE_LANG": "en"})
        found = json.loads(report.read_text(encoding="utf-8")) if report.exists() else None
        return done.returncode, found, done.stdout + done.stderr

    return run
