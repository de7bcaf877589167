"""Every TRL command that a lesson or a README shows: it parses, the installed TRL builds its settings, its files exist."""
import re
import shlex
from pathlib import Path

import jupytext
import pytest
from accelerate.commands.launch import launch_command_parser

from lib.llm import plan
from lib.llm.presets import HUB_PRESET, OVERLONG, config_for, read_settings
from lib.llm.train_trl import asked, config_file, parser, server_command
from notebooks import build

ROOT = Path(build.__file__).parents[1]
MODULE = "lib.llm.train_trl"


def shown() -> list[str]:
    """Lines that start the training, or vLLM for it, in fenced or indented code."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.ru.md")]
    for master in build.masters("05"):
        texts += [cell.source for cell in jupytext.read(master, fmt="py:percent").cells if cell.cell_type == "markdown"]
    found = []
    for line in "\n".join(texts).splitlines():
        for command in re.findall(r"`([^`]+)`", line) if "`" in line else [line.strip()]:
            starts = re.match(r"([A-Z_0-9]+=\S+ )*(python|accelerate|vllm) ", command)
            if starts and (MODULE in command or "vllm serve" in command):
                found.append(command)
    return sorted(set(found))


COMMANDS = shown()


def words(command: str) -> list[str]:
    """Without a comment, without environment variables before the program; $(…) stays one word."""
    return [w for w in shlex.split(command.partition(" #")[0]) if not re.fullmatch(r"[A-Z_0-9]+=\S+", w)]


def test_there_are_commands_of_each_kind():
    text = "\n".join(COMMANDS)
    for kind in ("--num_processes 4", "--num_processes 3", "--vllm server", "--vllm colocate", "zero2", "zero3", "--lora",
                 "vllm serve", "--eval", "--plan"):
        assert kind in text


@pytest.mark.parametrize("command", [c for c in COMMANDS if MODULE not in c])
def test_the_server_is_started_as_the_script_says(command):
    assert command == server_command("Qwen/Qwen2.5-0.5B-Instruct")


@pytest.mark.parametrize("command", [c for c in COMMANDS if MODULE in c])
def test_shown_command_builds(command, tmp_path):
    line, processes = words(command), 1
    if line[0] == "accelerate":
        own = line.index("-m")
        launch = launch_command_parser().parse_args([*line[2:own], "-m", MODULE])
        processes = launch.num_processes
        assert processes
        assert line[1] == "launch"
        if launch.config_file:
            name = re.fullmatch(rf"\$\(python -m {MODULE} --config-file (\w+)\)", launch.config_file).group(1)
            assert config_file(name).is_file()
        line = line[own:]
    else:
        line = line[1:]
    assert line[:2] == ["-m", MODULE]
    options = parser().parse_args(line[2:])
    if options.resume or options.fields or options.config_file:
        return
    run = asked(options)
    vllm = {"use_vllm": True, "vllm_mode": run.vllm} if run.vllm else {}
    config = config_for(run.model, run.settings | vllm, tmp_path, cpu=True)
    assert plan.batch(HUB_PRESET | run.settings, processes).prompts >= 4
    assert not options.vllm or config.vllm_mode == options.vllm


def test_what_lesson_05_asks_to_break_is_possible(tmp_path):
    for settings in (["learning_rate=3e-3"], ["max_completion_length=100"], ["num_generations=2"]):
        assert config_for("tiny", read_settings(settings), tmp_path)
    assert OVERLONG < 100
