"""Loading by name, and the traps on the way: the replaced tokenizer, the opened thought, the hub that is not there."""
import json
import time

import pytest
from transformers import AutoTokenizer, Qwen2Config

from lib.countdown.tasks import PROMPTS, prompt
from lib.llm import tiny
from lib.llm.models import check_hub, load_config, load_tokenizer, opened, rendered, resolve

CHAT = prompt({"nums": [3, 7, 10], "target": 31}, "en")


@pytest.fixture
def tokenizer():
    return tiny.new_tokenizer()


def test_tiny_is_the_shipped_base():
    assert resolve("tiny") == str(tiny.BASE)


@pytest.mark.parametrize(("name", "words"), [("nowhere", "there is no folder nowhere"), ("./a/b", "there is no folder"),
                                             ("/a", "there is no folder"), ("a/b/c", "there is no folder")])
def test_what_is_no_model_is_told(name, words):
    with pytest.raises(ValueError, match=words):
        resolve(name)


def test_a_folder_without_a_model_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"config\.json"):
        resolve(str(tmp_path))
    (tmp_path / "config.json").write_text('{"model_type": "no such"}')
    with pytest.raises(ValueError, match="cannot be loaded"):
        load_config(resolve(str(tmp_path)))


def test_an_unreachable_hub_says_at_once_how_to_use_a_folder(monkeypatch, each_language):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")     # nobody listens there
    start = time.perf_counter()
    with pytest.raises(ValueError, match="hf download Qwen/Qwen9-0B --local-dir Qwen9-0B"):
        resolve("Qwen/Qwen9-0B")
    assert time.perf_counter() - start < 15
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ValueError, match="HF_HUB_OFFLINE"):
        check_hub("Qwen/Qwen9-0B")


def test_a_qwen2_folder_keeps_its_own_tokenizer(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    Qwen2Config().save_pretrained(tmp_path)
    text = rendered(tokenizer, CHAT)
    assert AutoTokenizer.from_pretrained(tmp_path)(text).input_ids != tokenizer(text).input_ids, "the trap is gone"
    found = load_tokenizer(str(tmp_path))
    assert found(text).input_ids == tokenizer(text).input_ids
    assert found.padding_side == "left"
    assert rendered(found, CHAT) == text


def test_a_tokenizer_without_pad_pads_with_its_end(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    settings.pop("pad_token")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    tiny.new_model(tokenizer).config.save_pretrained(tmp_path)
    assert load_tokenizer(str(tmp_path)).pad_token == tiny.END


@pytest.mark.parametrize(("ending", "wanted"), [
    ("", ""), ("<think>", "<think>"), ("<think>\n", "<think>\n"), ("<think>\n\n</think>\n\n", "")])
def test_what_the_template_opens(tokenizer, ending, wanted):
    tokenizer.chat_template = tiny.CHAT[: -len("{% endif %}")] + "{{ '" + ending.replace("\n", "\\n") + "' }}{% endif %}"
    assert rendered(tokenizer, CHAT).endswith("assistant\n" + ending)
    assert opened(tokenizer) == wanted


def test_a_base_model_without_a_chat_template_reads_the_bare_text(tokenizer):
    tokenizer.chat_template = None
    assert rendered(tokenizer, CHAT) == PROMPTS["en"].format(nums=[3, 7, 10], target=31) + "\n"
    assert opened(tokenizer) == ""
