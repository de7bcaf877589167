"""Set-up: which Pythons are let in, what is pinned where."""
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def check_python(version: tuple[int, ...]) -> subprocess.CompletedProcess:
    code = f"import sys, runpy; sys.version_info = {version}; runpy.run_path('tools/check_python.py')"
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 12, 4), (3, 13, 0), (3, 14, 1)])
def test_supported_pythons_pass(version):
    assert check_python(version).returncode == 0


@pytest.mark.parametrize("version", [(3, 8, 0), (3, 10, 9), (3, 15, 0)])
def test_other_pythons_stop_with_the_versions_that_work(version):
    done = check_python(version)
    assert done.returncode == 1
    assert f"{version[0]}.{version[1]}" in done.stderr
    assert "3.11, 3.12, 3.13, 3.14" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_check_agrees_with_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11,<3.15"


@pytest.mark.parametrize("name", ["requirements-cpu.txt", "requirements-llm-cpu.txt", "requirements-llm.txt",
                                  "requirements-dev.txt", "homework/requirements-llm.txt", "requirements-verl.txt",
                                  "requirements-verl-dev.txt"])
def test_every_requirement_is_pinned(name):
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        assert not line or line.startswith("-r ") or re.fullmatch(r"[a-z0-9_-]+(\[[a-z-]+\])?==[0-9.]+", line), line


def test_the_course_imports_without_what_only_developers_install():
    """Every third-party import of lib is in requirements-cpu.txt or installed by what is."""
    hidden = ["jupytext", "nbclient", "nbconvert", "pytest", "hypothesis", "playwright", "datasets", "pyarrow",
              "nbgrader", "sqlalchemy", "transformers", "trl", "accelerate", "peft", "verl", "ray"]
    code = (f"import sys; sys.modules.update(dict.fromkeys({hidden}))\n"   # None: an import of it fails
            "import lib.toy.__main__, lib.toy.bench, lib.toy.table, lib.runlog.plot, lib.toy.base\n"
            "import lib.countdown.bench, lib.countdown.cage, lib.countdown.battery, lib.countdown.explain\n"
            "import lib.grading.command, lib.grading.gradebook, lib.grading.notebook\n"
            "import lib.llm.sizing, lib.llm.plan, lib.llm.train_trl, lib.llm.table, lib.ui.sizing_panel, lib.runlog.health\n"
            "import lib.llm.gsm8k, lib.llm.launch_verl, lib.llm.verl_presets, lib.llm.verl_runs, lib.llm.verl_ask\n"
            "import lib.runlog.verl")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_one_list_of_pins():
    """Each package is pinned in one file, and the files for GPUs and developers include the others."""
    def lines(name):
        return [line.split("#")[0].strip() for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]

    chain = {"requirements-cpu.txt": None, "requirements-llm-cpu.txt": "requirements-cpu.txt",
             "requirements-llm.txt": "requirements-llm-cpu.txt", "requirements-dev.txt": "requirements-llm-cpu.txt",
             "homework/requirements-llm.txt": "../requirements-llm.txt"}
    pinned = []
    for name, included in chain.items():
        found = [line for line in lines(name) if line]
        assert [line for line in found if line.startswith("-r")] == ([f"-r {included}"] if included else [])
        pinned += [line.partition("==")[0] for line in found if "==" in line]
    assert len(pinned) == len(set(pinned))


def test_verls_environment_is_the_courses_where_both_have_a_package():
    """Two lists, since the two cannot be installed together; torch and pytest are the same in both."""
    def pins(*names):
        lines = [line for name in names for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]
        return dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))

    ours = pins("requirements-cpu.txt", "requirements-llm-cpu.txt", "requirements-dev.txt")
    theirs = pins("requirements-verl.txt", "requirements-verl-dev.txt")
    assert {name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]} == {"transformers"}


def test_the_installed_packages_are_the_pinned_ones_and_allow_the_gpu_set():
    """What TRL's own metadata says of vLLM and transformers holds for the pins that no CPU can install."""
    from importlib.metadata import requires, version

    from packaging.requirements import Requirement

    pins = {}
    for name in ("requirements-cpu.txt", "requirements-llm-cpu.txt", "requirements-llm.txt"):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            package, equal, number = line.split("#")[0].strip().partition("==")
            if equal:
                pins[package] = number
    for package in ("trl", "transformers", "accelerate", "peft", "datasets", "numpy"):
        assert version(package) == pins[package]
    wanted = [Requirement(text) for text in requires("trl")]
    ranges = {r.name: r.specifier for r in wanted
              if r.name in pins and (r.marker is None or r.marker.evaluate({"extra": r.name}))}
    assert {"vllm", "deepspeed", "transformers", "accelerate", "datasets", "peft"} <= set(ranges)
    for package, allowed in ranges.items():
        assert allowed.contains(pins[package]), f"{package} {pins[package]} is outside TRL's {allowed}"


def test_the_grader_starts_at_once():
    """Neither torch nor a homework is imported before it is needed: a wrong flag is told in a moment."""
    code = "import sys, lib.grading.command; assert not {'torch', 'numpy', 'nbgrader', 'IPython'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_graded_code_finds_no_other_course_files_than_it_is_given():
    """The grader's own files for the worker import nothing of the course but each other."""
    from lib.grading.sandbox import OWN

    for name in OWN:
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            if match := re.match(r"\s*from (lib[\w.]*) import (\w+)", line):
                module = f"{match[1]}.{match[2]}".replace(".", "/") + ".py"
                assert module in OWN or name == "lib/grading/notebook.py", line
