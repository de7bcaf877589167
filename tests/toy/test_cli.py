"""python -m lib.toy: what it prints and writes, what it refuses in one sentence, what Ctrl-C leaves behind."""
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict, fields
from pathlib import Path

import pytest
import torch

from lib import cli
from lib.runlog.names import TOY_METRICS
from lib.toy import __main__ as toy
from lib.toy import experiment
from lib.toy.evaluate import evaluate
from lib.toy.experiment import Run, Settings, finish
from lib.toy.grpo import rollout

SMALL = ("--steps", "26", "--B", "3", "--G", "2")
PNG = b"\x89PNG\r\n\x1a\n"
FIGURES = r"pass@1 \d\.\d\d  pass@8 \d\.\d\d  {length} \d+\.\d  {cot} \d\.\d\d  \(400 {prompts}\)"
STEP = r"{step} {n:3d}: {reward} -?\d\.\d\d  {length} \d+\.\d  {cot} \d\.\d\d  KL \d+\.\d\d"
WORDS = {
    "en": {"base": "base:  ", "after": "after: ", "length": "length", "cot": "CoT share", "prompts": "prompts x 8 answers",
           "step": "step", "reward": "reward"},
    "ru": {"base": "база:  ", "after": "после: ", "length": "длина", "cot": "доля CoT", "prompts": "задач × 8 ответов",
           "step": "шаг", "reward": "награда"},
}


def start(*args, **env):
    return subprocess.Popen([sys.executable, "-m", "lib.toy", *map(str, args)], env=os.environ | env, text=True,
                            encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(*args, **env):
    """(exit code, stdout, stderr) of the command as a learner runs it."""
    process = start(*args, **{"PYTHONIOENCODING": "utf-8"} | env)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """The same in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*args):
        monkeypatch.setattr(sys, "argv", ["lib.toy", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            cli.main(toy.main)
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err
    return call


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def check_lines(out, language, steps):
    """The lesson's lines: the base, every 25th step and the last one, and after."""
    words = WORDS[language]
    patterns = [re.escape(words["base"]) + FIGURES.format(**words), *(STEP.format(n=n, **words) for n in steps),
                re.escape(words["after"]) + FIGURES.format(**words)]
    lines = out.splitlines()
    assert len(lines) >= len(patterns)
    for line, pattern in zip(lines, patterns, strict=False):
        assert re.fullmatch(pattern, line), (line, pattern)
    return lines[len(patterns):]


# ── a run ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_run_prints_logs_and_plots(tmp_path, shipped):
    log, plot = tmp_path / "run.jsonl", tmp_path / "curves.png"
    code, out, err = run(*SMALL, "--seed", 3, "--log", log, "--plot", plot)
    assert (code, err) == (0, "")
    assert check_lines(out, "en", [0, 25, 26]) == [f"curves saved in {plot}"]
    assert plot.read_bytes().startswith(PNG)
    rows = rows_of(log)
    assert [row["step"] for row in rows] == list(range(27))
    assert all(set(row) == {"step", "seed", *TOY_METRICS} for row in rows)
    again = Run(Settings(steps=26, B=3, G=2, seed=3), shipped)
    assert rows == list(again)                                     # the rows are the run's, to the last digit
    assert out.splitlines()[0] == f"base:  {evaluate(shipped)}"
    assert out.splitlines()[4] == f"after: {evaluate(again.policy)}"


def test_a_run_in_russian(tmp_path):
    code, out, err = run("--steps", 1, "--B", 2, "--G", 2, "--plot", tmp_path / "кривые.svg", COURSE_LANG="ru")
    assert (code, err) == (0, "")
    assert check_lines(out, "ru", [0, 1]) == [f"графики сохранены в {tmp_path / 'кривые.svg'}"]
    assert "<svg" in (tmp_path / "кривые.svg").read_text(encoding="utf-8")


def test_the_lessons_flags_and_the_plots_name(call, tmp_path):
    """The lesson's own command line, every flag of it: it must not name one that the program does not have."""
    code, out, _ = call("--p-cot", 0.3, "--pretrain-steps", 2, "--steps", 1, "--B", 2, "--G", 2, "--beta", 0.02,
                        "--lr", 1e-3, "--plot")
    assert code == 0
    assert check_lines(out, "en", [0, 1]) == ["curves saved in grpo_toy.png"]
    assert (tmp_path / "grpo_toy.png").read_bytes().startswith(PNG)


def test_without_plot_and_log_nothing_is_written(call, tmp_path):
    assert call("--steps", 1, "--B", 2, "--G", 2)[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_a_row_that_could_not_be_measured_is_null(call, tmp_path, monkeypatch):
    """Groups that are all wrong, dynamic sampling, one round: no step is made; JSON has no nan."""
    monkeypatch.setattr(experiment, "rollout", lambda *args: (lambda batch: batch._replace(
        rewards=torch.zeros_like(batch.rewards)))(rollout(*args)))
    code, out, _ = call("--steps", 1, "--B", 2, "--G", 2, "--dynamic-sampling", "--max-rounds", 1, "--log", "run.jsonl")
    assert code == 0
    assert "KL -" in out
    row = rows_of(tmp_path / "run.jsonl")[0]
    assert row["frac_reward_zero_std"] == 1.0
    assert row["kl"] is row["loss"] is row["grad_norm"] is None
    assert json.loads(toy.json_row({"a": float("nan"), "b": float("inf"), "c": 1.5, "d": 2})) == {
        "a": None, "b": None, "c": 1.5, "d": 2}


def settings_of(monkeypatch, call, *args):
    seen = []
    monkeypatch.setattr(toy, "one_run", lambda settings, log, plot: seen.append(settings))
    assert call(*args)[0] == 0
    return seen[0]


OTHER = {"p_cot": 0.4, "pretrain_steps": 7, "base_seed": 5, "pretrain": True, "steps": 3, "B": 4, "G": 6, "beta": 0.5,
         "lr": 0.01, "loss": "dapo", "eps_low": 0.1, "eps_high": 0.28, "updates": 2, "length_penalty": 0.7,
         "dynamic_sampling": True, "max_rounds": 3, "seed": 9}


def test_without_flags_the_settings_are_the_defaults(call, monkeypatch):
    assert settings_of(monkeypatch, call) == Settings()


def test_every_setting_has_its_flag(call, monkeypatch):
    assert set(OTHER) == {field.name for field in fields(Settings)}
    flags = []
    for name, value in OTHER.items():
        flags += ["--" + name.replace("_", "-")] + ([] if value is True else [value])
    assert asdict(settings_of(monkeypatch, call, *flags)) == OTHER


def test_pretrain_ignores_the_shipped_model(call):
    code, out, _ = call("--pretrain", "--pretrain-steps", 2, "--steps", 1, "--B", 2, "--G", 2)
    assert code == 0
    assert "pass@1 0.00" in out.splitlines()[0]       # two steps teach nothing


def test_help_in_each_language(call, each_language):
    code, out, err = call("--help")
    assert (code, err) == (0, "")
    assert all("--" + field.name.replace("_", "-") in out for field in fields(Settings))
    assert all(flag in out for flag in ("--seeds", "--log", "--plot"))
    assert {"en": "prompts a step", "ru": "промптов на шаг"}[each_language] in out
    assert ("show this help message" in out) is False


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────────────────────────
BAD = {
    "G=1": (["--G", 1], "at least 2 answers", "не меньше 2 ответов"),
    "p_cot=1.5": (["--p-cot", 1.5], "between 0 and 1", "между 0 и 1"),
    "B=0": (["--B", 0], "at least 1", "не меньше 1"),
    "lr=nan": (["--lr", "nan"], "finite", "конечное"),
    "beta=-1": (["--beta", -1], "negative", "отрицательным"),
    "seeds=0": (["--seeds", 0], "at least 1", "не меньше 1"),
    "--B": (["--B", "many"], "invalid int value: 'many'", "нужно целое число, получено 'many'"),
    "--lr": (["--lr", "fast"], "invalid float value: 'fast'", "нужно число, получено 'fast'"),
    "--loss": (["--loss", "ppo"], "invalid choice: 'ppo'", "'ppo' не подходит"),
    "--beta": (["--beta"], "expected one argument", "нужно значение"),
    "--gamma": (["--gamma", 1], "unrecognized arguments: --gamma", "нет таких параметров: --gamma"),
    "plot's folder": (["--plot", "nowhere/a.png"], "no folder nowhere", "нет папки nowhere"),
    "plot's ending": (["--plot", "a.txt"], ".png, .svg, .pdf", ".png, .svg, .pdf"),
    "plot is a folder": (["--plot", "."], "is a folder", "— папка"),
    "log's folder": (["--log", "nowhere/a.jsonl"], "no folder nowhere", "нет папки nowhere"),
    "log is a folder": (["--log", "."], "is a folder", "— папка"),
    "folder of a seed's log": (["--seeds", 2, "--log", "nowhere/a.jsonl"], "no folder nowhere", "нет папки nowhere"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_call_that_cannot_work_is_one_sentence(call, what, each_language, monkeypatch):
    monkeypatch.setattr(toy, "Run", None)               # nothing may start before the refusal
    args, english, russian = BAD[what]
    code, out, err = call(*args)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert {"en": english, "ru": russian}[each_language] in err
    if what.startswith("--") or "=" in what:
        assert what in err                              # it says which value


def test_a_refusal_as_a_learner_sees_it():
    code, out, err = run("--G", 1)
    assert (code, out) == (2, "")
    assert err == "G=1: a group needs at least 2 answers, there is nothing to compare a single one with\n"


def test_an_unknown_language_is_a_clear_error():
    code, out, err = run("--steps", 1, COURSE_LANG="xx")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "COURSE_LANG='xx'" in err
    assert "en or ru" in err


@pytest.mark.parametrize("args", [["--log", "old.jsonl"], ["--seeds", 2, "--log", "ol.jsonl"]])
def test_an_existing_log_is_left_alone(call, tmp_path, args, each_language):
    kept = {"old.jsonl": "dear\n", "ol-seed1.jsonl": "dear\n"}
    for name, text in kept.items():
        (tmp_path / name).write_text(text)
    code, out, err = call(*args)
    assert (code, out) == (2, "")
    assert {"en": "exists already", "ru": "уже есть"}[each_language] in err
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == kept


def test_a_log_that_appears_meanwhile_is_left_alone_too(tmp_path, shipped):
    """Two runs started at once with one name: the check before the run saw nothing."""
    log = tmp_path / "run.jsonl"
    log.write_text("dear\n")
    with pytest.raises(FileExistsError):
        toy.follow(Run(Settings(steps=1, B=2, G=2), shipped), log)
    with pytest.raises(FileExistsError):
        toy.write_rows(log, [])
    assert log.read_text() == "dear\n"


# ── seeds ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_seeds_print_a_mean_and_an_interval(call, tmp_path):
    code, out, _ = call("--steps", 2, "--B", 2, "--G", 2, "--seeds", 2, "--seed", 5,
                        "--log", "run.jsonl", "--plot", "runs.png")
    assert code == 0
    lines = out.splitlines()
    assert sorted(line[:6] for line in lines[:2]) == ["seed 5", "seed 6"]
    assert "2 seeds, one base model for all" in lines[2]
    assert "400 prompts x 8 answers" in lines[2]
    figure = r"\d+\.\d\d ± \d+\.\d\d"
    line = rf"pass@1 {figure}  pass@8 {figure}  length {figure}  CoT share {figure}"
    assert re.fullmatch("base:  " + line, lines[3])
    assert re.fullmatch("after: " + line, lines[4])
    assert "± 0.00" in lines[3]                         # both runs start from one base, evaluated on the same prompts
    for seed in (5, 6):
        assert [row["seed"] for row in rows_of(tmp_path / f"run-seed{seed}.jsonl")] == [seed] * 3
    assert (tmp_path / "runs.png").read_bytes().startswith(PNG)
    assert not (tmp_path / "run.jsonl").exists()


# ── Ctrl-C ────────────────────────────────────────────────────────────────────────────────────────────────────────────
posix = pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")


def interrupted(process, ready):
    """Ctrl-C as soon as ready() is true; (exit code, stdout, stderr)."""
    deadline = time.monotonic() + 60
    while not ready():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()   # one that ignores Ctrl-C must not go on behind the other tests
    return process.returncode, out, err


@posix
def test_ctrl_c_keeps_the_log(tmp_path):
    log = tmp_path / "run.jsonl"
    process = start("--steps", 100_000, "--B", 2, "--G", 2, "--log", log)
    code, out, err = interrupted(process, lambda: log.exists() and log.read_text().count("\n") >= 3)
    assert (code, err) == (130, "")
    said = re.fullmatch(r"stopped; rows so far: (\d+), (.+)", out.splitlines()[-1])
    assert said[2] == str(log)
    rows = rows_of(log)
    assert [row["step"] for row in rows] == list(range(len(rows)))
    assert len(rows) >= 3
    assert int(said[1]) - len(rows) in (0, 1)           # the last one may have been on its way to the file


@posix
def test_ctrl_c_without_a_log_saves_the_rows_beside_older_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grpo_toy-stopped.jsonl").write_text("dear\n")
    process = start("--steps", 100_000, "--B", 2, "--G", 2, COURSE_LANG="ru", PYTHONIOENCODING="utf-8")
    lines = []

    def first_step_printed():
        lines.append(process.stdout.readline())
        return lines[-1].startswith("шаг   0")

    code, out, err = interrupted(process, first_step_printed)
    assert (code, err) == (130, "")
    assert re.fullmatch(r"остановлено; готовых строк: \d+, grpo_toy-stopped-1\.jsonl", out.splitlines()[-1])
    assert len(rows_of(tmp_path / "grpo_toy-stopped-1.jsonl")) >= 1
    assert (tmp_path / "grpo_toy-stopped.jsonl").read_text() == "dear\n"


@posix
@pytest.mark.parametrize("seeds", [[], ["--seeds", 2]])
def test_ctrl_c_while_the_base_model_is_made(tmp_path, seeds):
    cache = tmp_path / "cache"
    process = start("--p-cot", 0.41, "--pretrain-steps", 100_000, *seeds, GRPO_COURSE_CACHE=str(cache))

    def training():   # the first seconds after the lock go into imports, where Python may swallow a KeyboardInterrupt
        return any(time.time() - lock.stat().st_mtime > 8 for lock in cache.glob("*.lock"))

    code, out, err = interrupted(process, training)
    assert (code, err) == (130, "")
    assert "stopped" in out
    assert not list(cache.glob("*.safetensors"))


def test_ctrl_c_in_a_sweep_keeps_the_finished_runs(call, monkeypatch, tmp_path):
    """The interrupt comes while the second run is waited for: the first one's log and figures stay."""
    def broken(all_settings):
        yield 0, finish(all_settings[0])
        raise KeyboardInterrupt

    monkeypatch.setattr(toy, "sweep", broken)
    code, out, _ = call("--steps", 1, "--B", 2, "--G", 2, "--seeds", 2, "--log", "run.jsonl")
    assert code == 130
    assert "runs finished: 1 of 2" in out
    assert "run-seed0.jsonl" in out
    assert "(n = 1)" in out
    assert len(rows_of(tmp_path / "run-seed0.jsonl")) == 2


# ── what users did to it ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("args", "says"), [
    (("--length-penalty", 1e300), "length_penalty"), (("--eps-high", 1e300), "eps_high"), (("--B", 99_999_999_999), "B="),
    (("--seeds", 99_999_999_999), "seeds"), (("--log", "same.png", "--plot", "same.png"), "different files"),
])
def test_absurd_values_are_one_sentence(call, args, says):
    code, _, err = call(*args)
    assert code == 2
    assert says in err
    assert len(err.splitlines()) == 1


def test_a_full_disk_names_the_log_and_the_rows(call):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    rows = Run(Settings(steps=2, B=2, G=2))
    with pytest.raises(OSError, match=r"/dev/full could not be written .* rows in it: 0"):
        toy.follow(rows, OpenForWriting("/dev/full"))


class OpenForWriting(type(Path())):
    """/dev/full exists already, which `follow` takes for another run's log."""

    def open(self, mode="r", **options):
        return super().open(mode.replace("x", "w"), **options)


def test_a_diverged_run_says_so(call):
    code, out, _ = call("--steps", 30, "--B", 4, "--G", 4, "--lr", 1000)
    assert code == 0
    assert "the run diverged at step" in out


def test_a_code_page_without_the_multiplication_sign_does_not_end_the_run():
    done = subprocess.run([sys.executable, "-m", "lib.toy", "--steps", "1", "--B", "2", "--G", "2"], capture_output=True,
                          env=os.environ | {"COURSE_LANG": "ru", "PYTHONIOENCODING": "cp1251"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert "400 задач ? 8 ответов" in done.stdout.decode("cp1251")
