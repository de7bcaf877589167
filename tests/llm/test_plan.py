"""The plan of a run: an optimizer step in numbers, and what is refused before anything is loaded."""
import pytest

from lib.llm import sizing
from lib.llm.plan import Machine, batch, check_context, check_memory, describe_memory, describe_steps
from lib.llm.presets import config_for, settings_for
from lib.llm.sizing import MODELS

HUB, TINY = (settings_for(model, {}, cpu=False) for model in ("Qwen/Qwen2.5-0.5B-Instruct", "tiny"))
CARD = Machine(1, 16.0, 1)


@pytest.mark.parametrize(("processes", "prompts"), [(1, 4), (3, 12), (4, 16), (8, 32)])
def test_prompts_an_optimizer_step(processes, prompts):
    """8 x 4 / 8 = 4 on one card, 12 on three."""
    found = batch(HUB, processes)
    assert (found.prompts, found.completions, found.tokens) == (prompts, 8 * prompts, 8 * prompts * 256)
    assert found.formula == f"8 x {processes} x 4 / 8"
    assert (found.sampled, found.reuse) == (8 * prompts, 1)


def test_a_larger_generation_batch_feeds_several_steps():
    found = batch(HUB | {"steps_per_generation": 16}, 1)
    assert (found.prompts, found.sampled, found.reuse) == (4, 128, 4)
    found = batch(HUB | {"generation_batch_size": 64, "num_iterations": 2}, 1)
    assert (found.sampled, found.reuse) == (64, 4)


@pytest.mark.parametrize("settings", [
    {"num_generations": 6}, {"per_device_train_batch_size": 3}, {"gradient_accumulation_steps": 1,
                                                                 "per_device_train_batch_size": 4},
    {"generation_batch_size": 36}])
def test_groups_must_come_out_whole(settings, each_language):
    with pytest.raises(ValueError, match="per_device_train_batch_size"):
        batch(HUB | settings, 1)


def test_a_group_needs_two():
    with pytest.raises(ValueError, match="at least 2"):
        batch(HUB | {"num_generations": 1})


def test_trl_agrees_on_what_is_whole(tmp_path):
    config = config_for("tiny", {"num_generations": 4, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 6},
                        tmp_path)
    found = batch(settings_for("tiny", {"num_generations": 4, "per_device_train_batch_size": 2,
                                       "gradient_accumulation_steps": 6}, cpu=True))
    assert config.generation_batch_size == found.sampled == 12
    with pytest.raises(ValueError, match="divisible"):
        config_for("tiny", {"num_generations": 4, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 3},
                   tmp_path)


# ── what cannot work ──────────────────────────────────────────────────────────────────────────────────────────────────
SMALL, MIDDLE, LARGE = (MODELS[name] for name in ("Qwen2.5-0.5B", "Qwen2.5-1.5B", "Qwen2.5-7B"))


def test_a_completion_must_fit_the_context():
    check_context(HUB, 356, 100)
    with pytest.raises(ValueError, match="at most 255"):
        check_context(HUB, 355, 100)
    check_context(HUB, None, 100)


def test_a_large_model_needs_a_gpu():
    with pytest.raises(ValueError, match=r"7\.6 billion parameters and no GPU"):
        check_memory(LARGE, Machine(0, 1000.0, 1))
    with pytest.raises(ValueError, match=r"1\.5 billion parameters and no GPU"):
        check_memory(MIDDLE, Machine(0, 1000.0, 1))
    check_memory(SMALL, Machine(0, 24.0, 1))
    with pytest.raises(ValueError, match="there are 24"):          # four copies of 8 GB in one machine's RAM
        check_memory(SMALL, Machine(0, 24.0, 4))


@pytest.mark.parametrize(("model", "machine", "fits"), [
    (MIDDLE, Machine(1, 16.0, 1), False), (MIDDLE, Machine(1, 32.0, 1), True),
    (MIDDLE, Machine(3, 16.0, 3, "zero2"), True), (LARGE, Machine(3, 16.0, 3, "zero3"), False),
    (LARGE, Machine(1, 16.0, 1, "lora"), True), (LARGE, Machine(1, 12.0, 1, "lora"), False),
    (LARGE, Machine(8, 16.0, 8, "zero3"), True)])
def test_the_state_must_fit_the_card(model, machine, fits):
    if fits:
        check_memory(model, machine)
    else:
        with pytest.raises(ValueError, match=f"{machine.placement}.* there are {machine.gb:.0f}"):
            check_memory(model, machine)


def test_the_machine_reads_what_accelerate_says(monkeypatch):
    for name in ("ACCELERATE_USE_DEEPSPEED", "ACCELERATE_DEEPSPEED_ZERO_STAGE", "ACCELERATE_USE_FSDP", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert Machine.here()[2:] == (1, "copy")
    assert Machine.here(lora=True).placement == "lora"
    assert Machine.here().gb > 1
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    for stage, placement in (("1", "copy"), ("2", "zero2"), ("3", "zero3")):
        monkeypatch.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", stage)
        assert Machine.here()[2:] == (3, placement)
    monkeypatch.delenv("ACCELERATE_USE_DEEPSPEED")
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    assert Machine.here().placement == "zero3"


# ── the text ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_plan_says_what_a_step_is_and_where_memory_goes(each_language):
    machine = Machine(3, 16.0, 3, "zero2")
    text = describe_steps(HUB, machine) + "\n" + describe_memory(HUB, machine, MIDDLE, 90)
    for wanted in ("12", "8 x 3 x 4 / 8", "96", str(96 * 256), "300", str(300 * 96), "zero2", "16"):
        assert wanted in text
    state = sum(sizing.state_bytes(MIDDLE, "zero2", 3).values()) / sizing.GB
    assert f"{state:.1f}" == "10.3"
    assert len(text.splitlines()) == 3


def test_a_small_model_is_measured_in_megabytes():
    tiny = sizing.Model("tiny", 3, 128, 256, 4, 1, 32, 149, True, False)
    assert " MB" in describe_memory(TINY, Machine(0, 24.0, 1), tiny, 15)
    assert "GB" in describe_memory(HUB, CARD, SMALL, 90)


def test_reuse_is_told():
    assert "4" in describe_steps(HUB | {"steps_per_generation": 16}, CARD).splitlines()[1]
