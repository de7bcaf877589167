"""The reward as verl calls it: its own GSM8K scorer, and the course's through verl's loader and reward managers."""
import numpy as np
import pytest
import torch

from lib.llm import gsm8k, tiny
from lib.llm.verl_check import compose
from lib.llm.verl_presets import overrides, settings_for

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(("answer", "paid"), [
    ("so #### 42", 1), ("#### 41\n#### 42", 1), ("#### 42 apples", 1), ("#### 4,2", 1), ("####42", 0), ("#### $42", 0),
    ("#### **42**", 0), ("#### 42.", 0), ("#### 42.0", 0), (r"\boxed{42}", 0), ("The answer is 42", 0),
    ("#### 42" + " x" * 200, 0)])
def test_which_spellings_verl_pays(answer, paid):
    from verl.utils.reward_score import default_compute_score

    assert default_compute_score(gsm8k.HUB, answer, "42") == paid


def test_the_truths_of_the_sample_are_paid():
    from verl.utils.reward_score import default_compute_score

    for row in gsm8k.made_up({"train": 30})["train"]:
        assert default_compute_score(row["data_source"], row["extra_info"]["answer"],
                                     row["reward_model"]["ground_truth"]) == 1.0


RIGHT, WRONG, NO_FORM = ("<think>3*7=21, 21+10=31 ✓\n</think><answer>(3*7)+10</answer>",
                         "<think>3+7=10, 10+10=20 ✗\n</think><answer>(3+7)+10</answer>", "31")


def batch(tokenizer, texts):
    from tensordict import TensorDict
    from verl import DataProto

    ids = [tokenizer(text, add_special_tokens=False).input_ids for text in texts]
    longest = max(map(len, ids))
    responses = torch.tensor([row + [tokenizer.pad_token_id] * (longest - len(row)) for row in ids])
    attention = torch.tensor([[1, 1] + [1] * len(row) + [0] * (longest - len(row)) for row in ids])
    data = DataProto(batch=TensorDict({"prompts": torch.ones(len(ids), 2, dtype=torch.long), "responses": responses,
                                       "attention_mask": attention}, batch_size=len(ids)))
    row = gsm8k.countdown_row({"nums": [3, 7, 10], "target": 31}, "test", 0)
    for name in ("data_source", "reward_model", "extra_info"):
        column = np.empty(len(ids), dtype=object)
        column[:] = [row[name]] * len(ids)
        data.non_tensor_batch[name] = column
    return data, [len(row) for row in ids]


def scores(preset, texts, chosen=None):
    from verl.trainer.ppo.reward import load_reward_manager

    tokenizer = tiny.new_tokenizer()
    manager = load_reward_manager(compose(overrides(settings_for(preset, chosen or {}, cpu=True))), tokenizer)
    data, lengths = batch(tokenizer, texts)

    async def run():
        return [await manager.run_single(data[i : i + 1]) for i in range(len(texts))]

    return [float(found["reward_score"]) for found in manager.loop.run_until_complete(run())], lengths


def test_countdown_is_paid_by_the_courses_reward():
    found, _ = scores("countdown-grpo", [RIGHT, WRONG, NO_FORM])
    assert found == pytest.approx([1.2, 0.2, 0.0])


def test_long_replies_are_punished_softly():
    """(limit - buffer - length) / buffer beyond limit - buffer: equation 13 of DAPO."""
    limit, buffer = 40, 20
    keys = {"+reward.reward_kwargs.overlong_buffer_cfg": f"{{enable:True,len:{buffer},penalty_factor:1.0,log:True}}",
            "+reward.reward_kwargs.max_resp_len": limit, "data.max_response_length": limit}
    found, lengths = scores("countdown-dapo", [RIGHT, WRONG], keys)
    for score, length, base in zip(found, lengths, (1.2, 0.2), strict=True):
        assert score == pytest.approx(base + min(0.0, (limit - buffer - length) / buffer), abs=1e-5)
    assert max(lengths) > limit - buffer
