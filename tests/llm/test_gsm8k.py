"""Data for verl: the schema, the truths, files whole or not at all."""
import json

import pyarrow.parquet
import pytest

from lib.countdown.rewards import compute_score
from lib.countdown.tasks import task_key
from lib.llm import gsm8k

ANSWER = "She has 2+3=<<2+3=5>>5 apples.\nThat is 1,005 in all.\n#### 1,005"


@pytest.mark.parametrize(("answer", "truth"), [
    (ANSWER, "1005"), ("#### -7", "-7"), ("#### 3.5", "3.5"), ("#### 1\n#### 2", "2"), ("#### 18.", "18")])
def test_the_truth_is_the_last_marked_number(answer, truth):
    assert gsm8k.solution(answer) == truth


@pytest.mark.parametrize("answer", ["", "42", "####42", "#### many", "#### ,"])
def test_an_answer_without_a_number_is_told(answer, each_language):
    with pytest.raises(ValueError, match="#### "):
        gsm8k.solution(answer)


def test_a_row_is_what_verls_example_makes():
    assert gsm8k.row("How many?", ANSWER, "train", 3) == {
        "data_source": "openai/gsm8k", "ability": "math", "reward_model": {"style": "rule", "ground_truth": "1005"},
        "prompt": [{"role": "user", "content": 'How many? Let\'s think step by step and output the final answer after '
                                               '"####".'}],
        "extra_info": {"split": "train", "index": 3, "question": "How many?", "answer": ANSWER}}


def test_the_sample_is_right_and_says_what_it_is():
    rows = gsm8k.made_up()
    assert {split: len(part) for split, part in rows.items()} == gsm8k.SAMPLE
    for one in rows["train"]:
        a, b, c = (int(word) for word in one["prompt"][0]["content"].split() if word.isdigit())
        assert one["reward_model"]["ground_truth"] == str((a + b) * c)
        assert one["extra_info"]["made_up"] is True
    assert gsm8k.made_up() == rows


def test_countdown_goes_through_parquet_and_is_paid(tmp_path, each_language):
    train, test = gsm8k.write(gsm8k.countdown({"train": 30, "test": 10}), tmp_path / "new")
    rows = pyarrow.parquet.read_table(test).to_pylist()
    assert len(rows) == 10
    for one in rows:
        truth = one["reward_model"]["ground_truth"]
        assert compute_score("countdown", "<answer>1</answer>", truth, one["extra_info"])["score"] == 0.0
        assert str(truth["target"]) in one["prompt"][0]["content"]
    tasks = [{task_key(one["reward_model"]["ground_truth"]) for one in pyarrow.parquet.read_table(path).to_pylist()}
             for path in (train, test)]
    assert not tasks[0] & tasks[1]


def test_a_local_copy_is_converted(tmp_path):
    for split, count in (("train", 3), ("test", 2)):
        (tmp_path / f"{split}.jsonl").write_text(
            "\n".join(json.dumps({"question": f"q{i}", "answer": f"#### {i}"}) for i in range(count)) + "\n\n")
    rows = gsm8k.from_files([tmp_path / "train.jsonl", tmp_path / "test.jsonl"])
    assert [row["reward_model"]["ground_truth"] for row in rows["train"]] == ["0", "1", "2"]
    assert [row["extra_info"]["split"] for row in rows["test"]] == ["test", "test"]


@pytest.mark.parametrize("line", ["{", "[1]", '{"question": "q"}', '{"question": "q", "answer": "5"}',
                                  '{"question": "q", "answer": 5}'])
def test_a_broken_line_is_named(line, tmp_path, each_language):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text('{"question": "q", "answer": "#### 1"}\n')
    bad.write_text('{"question": "q", "answer": "#### 1"}\n' + line)
    with pytest.raises(ValueError, match=r"bad\.jsonl.* 2"):
        gsm8k.from_files([good, bad])
    bad.write_text("\n")
    with pytest.raises(ValueError, match=r"bad\.jsonl"):
        gsm8k.from_files([good, bad])


def test_files_that_are_there_stay(tmp_path, each_language):
    gsm8k.write(gsm8k.made_up({"train": 2, "test": 2}), tmp_path)
    before = (tmp_path / "train.parquet").read_bytes()
    with pytest.raises(ValueError, match="--out"):
        gsm8k.write(gsm8k.made_up({"train": 3, "test": 2}), tmp_path)
    assert (tmp_path / "train.parquet").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test.parquet", "train.parquet"]


def test_no_network_is_a_sentence(monkeypatch, each_language):
    import httpx
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ValueError, match=r"HF_HUB_OFFLINE.*--local.*--sample"):
        gsm8k.from_hub()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)

    def unreachable(*args, **kwargs):
        raise httpx.ConnectError("no route")

    monkeypatch.setattr(httpx, "head", unreachable)
    with pytest.raises(ValueError, match="no route"):
        gsm8k.from_hub()


def test_the_hubs_rows_are_taken(monkeypatch):
    import datasets
    import httpx

    monkeypatch.setattr(httpx, "head", lambda *args, **kwargs: None)
    asked = []

    def load(name, config, split):
        asked.append((name, config, split))
        return datasets.Dataset.from_list([{"question": split, "answer": "#### 4"}])

    monkeypatch.setattr(datasets, "load_dataset", load)
    rows = gsm8k.from_hub()
    assert asked == [("openai/gsm8k", "main", "train"), ("openai/gsm8k", "main", "test")]
    assert rows["test"][0]["reward_model"]["ground_truth"] == "4"
