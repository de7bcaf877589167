"""The plugin's sampling, and verl really training on a CPU."""
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from lib.llm import gsm8k, tiny
from lib.llm.verl_cpu import Request, sample
from lib.runlog import verl as log

pytestmark = pytest.mark.filterwarnings("ignore")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model():
    return tiny.new_model(tiny.new_tokenizer(), seed=3).eval()


def logps(model, prompt, reply):
    with torch.no_grad():
        logits = model(torch.tensor([prompt + reply])).logits[0, len(prompt) - 1 : -1]
    return torch.log_softmax(logits.float(), -1).gather(1, torch.tensor(reply)[:, None])[:, 0]


def test_a_batch_of_unequal_prompts_has_the_log_probs_of_each_alone(model):
    torch.manual_seed(0)
    prompts = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15], [5]]
    found = sample(model, [Request(p, 12, 1.0) for p in prompts], {20}, 0)
    for prompt, (tokens, paid) in zip(prompts, found, strict=True):
        torch.testing.assert_close(torch.tensor(paid), logps(model, prompt, tokens), atol=1e-4, rtol=1e-4)
        assert len(tokens) == 12 or tokens[-1] == 20
        assert 20 not in tokens[:-1]


def test_temperature_zero_takes_the_most_probable_token(model):
    prompt = [5, 6, 7]
    (tokens, _), = sample(model, [Request(prompt, 6, 0.0)], set(), 0)
    for i in range(6):
        with torch.no_grad():
            assert tokens[i] == model(torch.tensor([prompt + tokens[:i]])).logits[0, -1].argmax().item()


def test_each_request_keeps_its_own_limit(model):
    found = sample(model, [Request([5], limit, 1.0) for limit in (1, 4, 9)], set(), 0)
    assert [len(tokens) for tokens, _ in found] == [1, 4, 9]


def test_tokens_are_drawn_as_often_as_they_are_probable(model):
    """4000 first tokens; 4 standard errors."""
    torch.manual_seed(1)
    with torch.no_grad():
        p = torch.softmax(model(torch.tensor([[5, 6]])).logits[0, -1].float(), -1)
    top = p.argmax().item()
    found = sample(model, [Request([5, 6], 1, 1.0)] * 4000, set(), 0)
    share = sum(tokens == [top] for tokens, _ in found) / 4000
    assert abs(share - p[top].item()) < 4 * (p[top].item() * (1 - p[top].item()) / 4000) ** 0.5


# ── real runs ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    gsm8k.write(gsm8k.countdown({"train": 200, "test": 20}), folder)
    return folder


def launch(preset, out, *more):
    return subprocess.run([sys.executable, "-m", "lib.llm.launch_verl", preset, "--cpu", "--out", str(out), *more], cwd=ROOT,
                          capture_output=True, text=True, timeout=600)


def test_two_grpo_steps_and_on_from_the_checkpoint(tmp_path, tasks):
    out = tmp_path / "grpo"
    more = ["--data", str(tasks), "--set", "trainer.test_freq=2", "--set", "trainer.save_freq=2"]
    done = launch("countdown-grpo", out, "--steps", "2", *more)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = log.read_console(out / "console.log")
    assert [row["step"] for row in rows] == [0, 1, 2]
    assert 0 < rows[0][log.ACCURACY] < 0.5
    assert log.ACCURACY in rows[2]
    for row in rows[1:]:
        assert 0.2 < row["reward"] < 1.0
        assert 20 < row["completions/mean_length"] < 60
        assert row["grad_norm"] > 0
        assert row["entropy"] > 0
        assert row["training/rollout_actor_probs_pearson_corr"] > 0.99     # the rollout has the trainer's weights
    assert [json.loads(line)["step"] for line in (out / "rows.jsonl").read_text().splitlines()] == [0, 1, 2]
    assert "step 2: reward" in done.stdout
    again = launch("countdown-grpo", out, "--steps", "2", *more)
    assert again.returncode == 2
    assert "--resume" in again.stderr
    on = launch("countdown-grpo", out, "--steps", "3", "--resume", *more, "--set", "trainer.val_before_train=False")
    assert on.returncode == 0, on.stdout + on.stderr
    assert log.read_console(out / "console.log")[-1]["step"] == 3
    assert "step 1:" not in on.stdout


def test_a_dapo_step_leaves_degenerate_groups_out(tmp_path, tasks):
    done = launch("countdown-dapo", tmp_path / "dapo", "--data", str(tasks), "--steps", "1", "--set",
                  "trainer.val_before_train=False", "--set", "trainer.test_freq=-1")
    assert done.returncode == 0, done.stdout + done.stderr
    row, = log.read_console(tmp_path / "dapo" / "console.log")
    assert "training/filter_groups/evicted_samples" in row
    assert row["reward"] > 0.2 + 1 / 8 - 0.05      # a right reply in each group that was kept, less what long ones lose


def test_an_untaught_model_goes_through_the_machinery_of_gsm8k(tmp_path):
    done = launch("gsm8k-grpo", tmp_path / "gsm8k", "--steps", "1", "--set", "trainer.val_before_train=False", "--set",
                  "trainer.test_freq=-1", "--set", "data.max_response_length=32")
    assert done.returncode == 0, done.stdout + done.stderr
    row, = log.read_console(tmp_path / "gsm8k" / "console.log")
    assert row["reward"] == 0.0
