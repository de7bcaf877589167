"""Sizes against transformers and peft, the lesson's table, and each formula by hand for a model of round numbers."""
import itertools
import re
import subprocess
import sys

import pytest

from lib.i18n import LANGUAGES
from lib.llm import sizing
from lib.llm.sizing import CARDS, GB, MODELS, OVERHEAD, PLACEMENTS, Card, Model, memory, verdict

HALF, ONE_AND_A_HALF, THREE, SEVEN = MODELS.values()
EXACT = {"Qwen2.5-0.5B": 494032768, "Qwen2.5-1.5B": 1543714304, "Qwen2.5-3B": 3085938688, "Qwen2.5-7B": 7615616512}
ROUND = Model("round", layers=3, hidden=10, intermediate=20, heads=2, kv_heads=1, head_dim=4, vocab=100, tied=True)
# q, k and v, o; biases of q, k and v; the MLP; two norms: of each layer. Then the last norm and the embedding.
ROUND_N = 3 * (10 * 8 + 2 * 10 * 4 + 8 * 10 + (8 + 4 + 4) + 3 * 10 * 20 + 20) + 10 + 1000


def config_of(model: Model):
    from transformers import Qwen2Config, Qwen3Config

    shared = {"vocab_size": model.vocab, "hidden_size": model.hidden, "intermediate_size": model.intermediate,
              "num_hidden_layers": model.layers, "num_attention_heads": model.heads, "num_key_value_heads": model.kv_heads,
              "tie_word_embeddings": model.tied}
    return Qwen2Config(**shared) if model.qkv_bias else Qwen3Config(**shared, head_dim=model.head_dim)


def built(config):
    """The real model of a config, without memory for its weights."""
    import torch
    from transformers import Qwen2ForCausalLM, Qwen3ForCausalLM

    with torch.device("meta"):
        return (Qwen2ForCausalLM if config.model_type == "qwen2" else Qwen3ForCausalLM)(config)


def total(card):
    return sum(card.values())


# ── parameters ────────────────────────────────────────────────────────────────────────────────────────────────────────
SMALL = [Model("", 2, 32, 48, 4, 2, 8, 99, True), Model("", 3, 32, 80, 4, 1, 8, 50, False),
         Model("", 2, 32, 48, 4, 2, 16, 99, True, qkv_bias=False), Model("", 3, 24, 40, 2, 1, 8, 70, False, qkv_bias=False)]


@pytest.mark.parametrize("model", [*MODELS.values(), *SMALL], ids=lambda model: model.name)
def test_parameters_are_those_of_the_real_model(model):
    real = built(config_of(model))
    assert model.parameters == sum(p.numel() for p in real.parameters())
    assert model.head == real.lm_head.weight.numel()


def test_parameters_of_the_models_of_the_lesson():
    assert {name: model.parameters for name, model in MODELS.items()} == EXACT


@pytest.mark.parametrize("model", [HALF, SEVEN, *SMALL], ids=lambda model: model.name)
@pytest.mark.parametrize("rank", [4, 16])
def test_lora_parameters_are_those_of_peft(model, rank):
    import torch
    from peft import LoraConfig, get_peft_model

    with torch.device("meta"):
        config = LoraConfig(r=rank, target_modules="all-linear", task_type="CAUSAL_LM")
        lora = get_peft_model(built(config_of(model)), config)
    assert model.lora_parameters(rank) == sum(p.numel() for p in lora.parameters() if p.requires_grad)


@pytest.mark.parametrize("model", [HALF, SEVEN, *SMALL], ids=lambda model: model.name)
def test_of_config_reads_what_transformers_says(model):
    found = sizing.of_config(config_of(model))
    assert found._replace(name=model.name) == model
    assert found.name == ("qwen2" if model.qkv_bias else "qwen3")


def test_of_config_takes_the_name_from_the_hub():
    config = config_of(SMALL[0])
    config._name_or_path = "Qwen/Qwen2.5-0.5B"
    assert sizing.of_config(config).name == "Qwen/Qwen2.5-0.5B"


def test_the_size_of_another_kind_of_model_is_not_guessed(each_language):
    from transformers import GPT2Config, LlamaConfig

    for config in (GPT2Config(), LlamaConfig(), object()):
        with pytest.raises(ValueError, match="qwen2") as caught:
            sizing.of_config(config)
        assert getattr(config, "model_type", "object") in str(caught.value)


def test_sizes_need_neither_torch_nor_transformers():
    code = "import sys, lib.llm.sizing; assert not {'torch', 'transformers', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# ── the lesson's table ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("model", "gb"), [(HALF, 8), (ONE_AND_A_HALF, 25), (THREE, 49), (SEVEN, 122)])
def test_training_keeps_16_bytes_a_parameter(model, gb):
    for placement in ("copy", "zero2", "zero3"):
        state = sum(sizing.state_bytes(model, placement).values())
        assert state == 16 * model.parameters
        assert round(state / GB) == gb


def test_what_zero_leaves_on_each_of_three_cards():
    assert round(sum(sizing.state_bytes(ONE_AND_A_HALF, "zero2", 3).values()) / GB) == 10
    assert round(sum(sizing.state_bytes(THREE, "zero3", 3).values()) / GB) == 16


def test_the_price_of_the_link():
    assert [round(2 * model.parameters / GB) for model in (HALF, THREE)] == [1, 6]
    assert [round(sizing.transfer_seconds(model, 10), 1) for model in (HALF, THREE, SEVEN)] == [0.1, 0.6, 1.5]


def test_a_step_of_the_lesson_takes_what_it_says():
    slow = sizing.step_seconds(HALF, CARDS["RTX 4080"], 32)
    assert 5 < sum(slow.values()) < 20
    assert slow["generation"] > 2 * slow["training"]
    fast = sizing.step_seconds(HALF, CARDS["RTX 4080"], 96, engine="vllm", cards=3)
    assert 1 < sum(fast.values()) < 5


# ── formulas, by hand ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_parameters_by_hand():
    assert ROUND.parameters == ROUND_N == 3638
    assert ROUND._replace(tied=False).parameters == ROUND_N + 1000
    assert ROUND._replace(qkv_bias=False).parameters == ROUND_N + 3 * (8 - 16)
    assert ROUND.lora_parameters(2) == 3 * 2 * ((10 + 8) + (10 + 4) + (10 + 4) + (8 + 10) + 3 * (10 + 20))
    assert ROUND.kv_bytes == 3 * (4 + 4) * 2                  # keys and values of a token, in bfloat16


def test_state_by_hand():
    n, adapters = ROUND_N, ROUND.lora_parameters(2)
    assert sizing.state_bytes(ROUND, "copy", 4) == {"weights": 4 * n, "gradients": 4 * n, "optimizer": 8 * n}
    assert sizing.state_bytes(ROUND, "zero2", 4) == {"weights": 2 * n, "gradients": n / 2, "optimizer": 3 * n}
    assert sizing.state_bytes(ROUND, "zero3", 4) == {"weights": n / 2, "gradients": n / 2, "optimizer": 3 * n}
    assert sizing.state_bytes(ROUND, "lora", 4, rank=2) == {
        "weights": 2 * n + 4 * adapters, "gradients": 4 * adapters, "optimizer": 8 * adapters}


# Its layers are wide, or its head, or there are many layers: another moment of a micro-batch of 5 is the fullest one then.
TOKENS, COPIES = 5 * (7 + 11), 2 * (ROUND_N - 1000)
WIDE, HEADY, DEEP = ROUND._replace(intermediate=2000), ROUND._replace(vocab=9000), ROUND._replace(layers=300, vocab=5)
WIDE_COPIES, DEEP_COPIES = COPIES + 2 * 3 * 3 * 10 * 1980, 100 * (COPIES - 20) + 20


def test_backward_through_a_layer_by_hand():
    inside = 8 * 2000 * TOKENS
    assert sizing.batch_bytes(WIDE, 5, 7, 11, "copy") == {
        "activations": TOKENS * (4 * 3 * 10 + 31 * 10) + inside, "logits": 4 * 1000,
        "autocast": pytest.approx(WIDE_COPIES / 3)}
    for placement in ("zero2", "zero3"):
        assert sizing.batch_bytes(WIDE, 5, 7, 11, placement) == {
            "activations": TOKENS * (2 * 3 * 10 + 21 * 10) + inside, "logits": 2 * 1000, "autocast": 0}
    assert sizing.batch_bytes(WIDE, 5, 7, 11, "lora") == {
        "activations": TOKENS * (2 * 3 * 10 + 21 * 10) + inside, "logits": 0, "autocast": 0}        # the head is frozen
    for placement in PLACEMENTS:                                            # its own head's gradient does not wait
        assert sizing.batch_bytes(WIDE._replace(tied=False), 5, 7, 11, placement)["logits"] == 0


def test_backward_through_the_head_by_hand():
    tile = 2 * 55 * 9000
    for placement, gradient, size in (("copy", 4, 4), ("zero2", 6, 2), ("zero3", 6, 2), ("lora", 0, 2)):
        for tied in (True, False):
            assert sizing.batch_bytes(HEADY._replace(tied=tied), 5, 7, 11, placement) == {
                "activations": size * TOKENS * 3 * 10, "logits": tile + gradient * 90000, "autocast": 0}


def test_the_end_of_the_forward_pass_by_hand():
    for tied in (True, False):
        assert sizing.batch_bytes(DEEP._replace(tied=tied), 5, 7, 11, "copy") == {
            "activations": 4 * TOKENS * 300 * 10, "logits": 2 * 55 * 5, "autocast": DEEP_COPIES}
    for placement in PLACEMENTS[1:]:
        assert sizing.batch_bytes(DEEP, 5, 7, 11, placement)["autocast"] == 0


def test_the_fullest_moment_is_taken():
    """Of a real model: the head at first, a layer with more tokens; on the way the sum never falls or jumps."""
    logits = [sizing.batch_bytes(HALF, 8, 100, tokens, "zero2") for tokens in range(64, 2048, 8)]
    assert logits[0]["logits"] > 6 * HALF.head
    assert logits[-1]["logits"] == 2 * HALF.head
    for before, after in itertools.pairwise(map(total, logits)):
        assert before < after < before + 8 * 8 * (2 * 24 * 896 + 21 * 896 + 8 * 4864 + 2 * 32768)


def test_logits_are_a_tile_however_many_they_are():
    tile, gradient = 2 * 4096 * 32768, 6 * 151936 * 896
    assert sizing.batch_bytes(HALF, 16, 0, 256, "zero2")["logits"] == tile + gradient
    assert sizing.batch_bytes(HALF, 1, 0, 8192, "zero2")["logits"] == tile + gradient
    assert sizing.batch_bytes(HALF, 8, 0, 256, "zero2")["logits"] == tile / 2 + gradient


def test_tiles_are_those_of_trl():
    from trl.kernels import chunked_logprob
    from trl.trainer import utils

    assert (chunked_logprob.TOKEN_CHUNK_SIZE, utils._CHUNKED_LOGPROB_CHUNK_SIZE) == sizing.TILE


@pytest.mark.parametrize(("floats", "placement"), [(False, "zero2"), (True, "copy")])
def test_activations_are_what_autograd_saves_in_a_layer(floats, placement):
    import torch
    from transformers.models.qwen2.modeling_qwen2 import Qwen2Model

    model, tokens = Model("", 1, 448, 1024, 7, 1, 64, 100, True), 64
    config = config_of(model)
    config._attn_implementation = "sdpa"
    real = Qwen2Model(config).to(torch.float32 if floats else torch.bfloat16)
    weights, saved = {p.untyped_storage().data_ptr() for p in real.parameters()}, {}

    def save(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights and tensor.numel() >= 8 * tokens:
            saved[storage.data_ptr()] = storage
        return tensor

    x = torch.randn(1, tokens, 448, dtype=real.dtype, requires_grad=True)
    rotary = real.rotary_emb(x, torch.arange(tokens)[None])
    with torch.autograd.graph.saved_tensors_hooks(save, lambda t: t), torch.autocast("cpu", torch.bfloat16, enabled=floats):
        real.layers[0](x, position_embeddings=rotary)
    copies = 2 * sum(p.numel() for p in real.layers[0].parameters() if p.ndim == 2) if floats else 0
    measured = sum(storage.nbytes() for storage in saved.values()) - copies
    one_input = (4 if floats else 2) * tokens * 448                     # counted among the layers' inputs, and saved inside
    estimated = sizing.batch_bytes(model, 1, 0, tokens, placement)["activations"] - one_input
    assert estimated == pytest.approx(measured, rel=0.05)


def test_buffers_by_hand():
    n = HALF.parameters
    for placement in PLACEMENTS:
        assert sizing.buffer_bytes(HALF, placement, 1) == 0
    assert sizing.buffer_bytes(HALF, "copy", 2) == 4 * n
    assert sizing.buffer_bytes(HALF, "lora", 3, rank=8) == 4 * HALF.lora_parameters(8)
    assert sizing.buffer_bytes(HALF, "zero2", 2) == 2 * n                   # fewer parameters than a bucket holds
    assert sizing.buffer_bytes(THREE, "zero2", 2) == 1e9
    assert sizing.buffer_bytes(HALF, "zero3", 2) == 4 * n
    assert sizing.buffer_bytes(THREE, "zero3", 2) == 3e9


def test_vllm_by_hand():
    assert sizing.vllm_bytes(ROUND, 6, 7) == {"weights": 2 * ROUND_N, "kv_cache": 6 * 7 * 48}


# ── a machine ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_cards_that_train_are_alike_and_add_up():
    cards = memory(HALF, 3, "zero2", completions=4, prompt_tokens=50, completion_tokens=200)
    assert len(cards) == 3
    assert cards[0] == cards[1] == cards[2]
    expected = sizing.state_bytes(HALF, "zero2", 3) | sizing.batch_bytes(HALF, 4, 50, 200, "zero2") | {
        "buffers": sizing.buffer_bytes(HALF, "zero2", 3), "generation": 0}
    assert cards[0] == {name: size / GB for name, size in expected.items()} | {"cuda": OVERHEAD}
    cards[0]["weights"] = 0                                                 # no card is another's dict
    assert cards[1]["weights"] > 0


def test_a_server_generates_for_the_cards_that_train():
    server, *training = memory(HALF, 4, "zero2", vllm="server", sampled=32, prompt_tokens=100, completion_tokens=256)
    assert server == {"weights": 2 * HALF.parameters / GB, "kv_cache": 3 * 32 * 356 * HALF.kv_bytes / GB, "cuda": OVERHEAD}
    assert len(training) == 3
    assert training[0]["optimizer"] == 12 * HALF.parameters / 3 / GB       # divided among three, not four
    assert "kv_cache" not in training[0]
    assert "generation" not in training[0]


def test_colocate_takes_its_share_of_every_card():
    plain, shared = memory(HALF, 2, card_gb=24), memory(HALF, 2, card_gb=24, vllm="colocate", utilization=0.25)
    assert [card["vllm"] for card in shared] == [6, 6]
    assert total(shared[0]) == pytest.approx(total(plain[0]) + 6)


def test_generation_counts_beyond_what_training_takes():
    assert memory(HALF, 1, sampled=8)[0]["generation"] == 0
    for placement, extra in (("copy", 2 * (HALF.parameters - HALF.head) + 8000 * 356 * HALF.kv_bytes), ("lora", 0)):
        many = memory(HALF, 1, placement, sampled=8000)[0]                  # float32 keys and values, and autocast's copies
        at_work = sum(many[part] for part in ("gradients", "activations", "logits", "autocast"))
        assert many["generation"] == pytest.approx((8000 * 356 * HALF.kv_bytes + extra) / GB - at_work)
    assert memory(HALF, 1, completions=8) == memory(HALF, 1, completions=8, sampled=8)
    large = memory(SEVEN, 8, "zero3", completions=1)[0]                     # transformers gathers all weights on each card
    at_work = sum(large[part] for part in ("gradients", "activations", "logits"))
    assert large["generation"] == pytest.approx((2 * SEVEN.parameters * 7 / 8 + 356 * SEVEN.kv_bytes) / GB - at_work)


def test_defaults_are_the_lessons_run_on_one_card():
    spelt = {"completions": 8, "prompt_tokens": 100, "completion_tokens": 256, "card_gb": 16.0, "sampled": 0}
    assert memory(HALF, vllm="colocate") == memory(HALF, 1, "copy", vllm="colocate", utilization=0.3, **spelt)
    assert memory(HALF, placement="lora") == memory(HALF, 1, "lora", **spelt)
    assert verdict(ONE_AND_A_HALF) == verdict(ONE_AND_A_HALF, 1, "copy", **spelt)
    assert sizing.state_bytes(HALF, "lora") == sizing.state_bytes(HALF, "lora", 1, rank=16)
    card = CARDS["RTX 4080"]
    assert sizing.step_seconds(HALF, card, 32) == sizing.step_seconds(HALF, card, 32, 100, 256)


@pytest.mark.parametrize(("given", "said"), [
    ({"cards": 1, "vllm": "server"}, "colocate"), ({"cards": 0}, "карта|card"), ({"vllm": "sever"}, "sever"),
    ({"placement": "zero1"}, "zero2"), ({"cards": 0, "vllm": "server"}, "карта|card")])
def test_what_cannot_be_is_a_sentence(given, said, each_language):
    with pytest.raises(ValueError, match=said):
        memory(HALF, **given)


def test_every_part_and_placement_has_a_name(monkeypatch):
    parts = {part for vllm in ("", "server", "colocate") for card in memory(HALF, 2, vllm=vllm) for part in card}
    for name, known in ((sizing.part_name, parts), (sizing.placement_name, PLACEMENTS)):
        for language in LANGUAGES:
            monkeypatch.setenv("COURSE_LANG", language)
            assert len({name(one) for one in known}) == len(known)


# ── does it fit ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_verdicts_follow_the_fullest_card():
    need = total(memory(HALF, 2)[0])
    assert verdict(HALF, 2, card_gb=need / 0.89).state == "fits"
    assert verdict(HALF, 2, card_gb=need / 0.91).state == "tight"
    assert verdict(HALF, 2, card_gb=need * 1.001).state == "tight"
    assert verdict(HALF, 2, card_gb=need * 0.999).state == "no"
    assert f"{need:.1f}" in verdict(HALF, 2, card_gb=8).text
    texts = [verdict(HALF, 2, card_gb=need * times).text for times in (1.2, 1.05, 0.9)]
    assert [text.split(":")[0] for text in texts] == ["Fits", "Tight", "Does not fit"]
    server = total(memory(SEVEN, 2, "lora", vllm="server", sampled=900)[0])            # the fullest is the server's card
    assert server > total(memory(SEVEN, 2, "lora", vllm="server", sampled=900)[1])
    assert verdict(SEVEN, 2, "lora", vllm="server", sampled=900, card_gb=server - 0.1).state == "no"


@pytest.mark.parametrize(("model", "cards", "placement", "settings", "state", "advice"), [
    (HALF, 3, "copy", {"card_gb": 16}, "fits", "Fits"),
    (ONE_AND_A_HALF, 3, "copy", {"card_gb": 24}, "no", "try ZeRO-2"),
    (ONE_AND_A_HALF, 1, "copy", {"card_gb": 24}, "no", "try LoRA"),                      # nothing to divide among
    (ONE_AND_A_HALF, 2, "copy", {"card_gb": 24, "vllm": "server"}, "no", "try LoRA"),    # one card trains
    (THREE, 8, "zero2", {"card_gb": 16, "vllm": "server"}, "no", "try ZeRO-3"),
    (THREE, 3, "zero3", {"card_gb": 16}, "no", "try LoRA"),
    (SEVEN, 3, "lora", {"card_gb": 16}, "no", "QLoRA"),
    (HALF, 1, "copy", {"card_gb": 16, "completion_tokens": 8192}, "no", "try a micro-batch of 2"),
    (HALF, 1, "copy", {"card_gb": 16, "vllm": "colocate", "utilization": 0.5}, "no", "vllm_gpu_memory_utilization=0.25"),
    (SEVEN, 2, "lora", {"card_gb": 48, "vllm": "colocate"}, "no", "vllm_gpu_memory_utilization=0.35"),
])
def test_advice(model, cards, placement, settings, state, advice, monkeypatch):
    said = verdict(model, cards, placement, **settings)
    assert said.state == state
    assert advice in said.text
    monkeypatch.setenv("COURSE_LANG", "ru")
    russian = verdict(model, cards, placement, **settings)
    assert russian.state == state
    assert russian.text != said.text
    assert re.findall(r"[\d.]*\d", russian.text) == re.findall(r"[\d.]*\d", said.text)
    for text in (said.text, russian.text):
        assert text.endswith(".")


def test_a_tight_fit_is_advised_only_where_there_was_none():
    small = total(memory(HALF, 1, "lora", completions=1)[0])
    assert "try LoRA" in verdict(HALF, 1, "copy", completions=1, card_gb=small / 0.95).text
    more = total(memory(HALF, 1, "lora", completions=2)[0])
    assert small > 0.9 * more
    said = verdict(HALF, 1, "lora", completions=2, card_gb=more / 0.99)
    assert said.state == "tight"
    assert "no single change" in said.text


def test_advice_is_enough():
    """Whatever is advised for a machine fits there, and leaves more room than before."""
    for model in MODELS.values():
        for gb in (12, 16, 24, 48, 80):
            for placement in PLACEMENTS:
                state = verdict(model, 4, placement, card_gb=gb)
                for change, text in sizing._changes(4, placement, {"card_gb": gb}):
                    if text in state.text:
                        found = verdict(model, 4, change[0], **change[1])
                        assert found.state in (("fits",) if state.state == "tight" else ("fits", "tight"))


def test_what_is_tried_comes_mildest_first():
    tried = [change for change, _ in sizing._changes(1, "copy", {"vllm": "colocate", "utilization": 0.2, "completions": 4})]
    assert [settings["completions"] for _, settings in tried[:2]] == [2, 1]
    assert {settings["sampled"] for _, settings in tried[:2]} == {4}            # generation stays what it was
    more = [percent / 100 for percent in range(25, 100, 5)]
    assert [settings["utilization"] for _, settings in tried[2:-1]] == [0.15, 0.1, 0.05, *more]
    assert tried[-1][0] == "lora"                                               # nothing to divide ZeRO's parts among
    assert [placement for (placement, _), _ in sizing._changes(2, "copy", {"completions": 1})] == ["zero2", "zero3", "lora"]


def test_a_share_without_room_for_the_weights_is_named(each_language):
    said = verdict(SEVEN, 2, "lora", card_gb=48, vllm="colocate").text
    assert "14.4" in said
    assert "15.2" in said


# ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_weights_go_as_they_are_trained():
    n = HALF.parameters
    assert sizing.transfer_seconds(HALF, 4) == pytest.approx(2 * n / 4e9)
    for placement in PLACEMENTS:
        assert sizing.transfer_seconds(HALF, 4, placement) == pytest.approx((4 if placement == "copy" else 2) * n / 4e9)
    assert sizing.transfer_seconds(HALF, 0.5) == pytest.approx(2 * n / 5e8)
    for link in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="GB/s"):
            sizing.transfer_seconds(HALF, link)


def test_time_by_hand():
    n, card = SEVEN.parameters, Card("", 80, 1000, 200)
    slow = sizing.step_seconds(SEVEN, card, 6, 10, 30)
    assert slow == {"generation": pytest.approx(30 * 0.025), "training": pytest.approx(8 * n * 6 * 40 / (200e12 * 0.35))}
    fast = sizing.step_seconds(SEVEN, card, 6, 10, 30, engine="vllm", cards=3)
    assert fast == {"generation": pytest.approx(30 * 2 * n / 1e12),
                    "training": pytest.approx(10 * n * 6 * 40 / (200e12 * 0.35 * 3))}
    assert sizing.step_seconds(HALF, card, 6, 10, 30, engine="vllm")["generation"] == pytest.approx(30 * 0.004)
    for engine, passes in (("transformers", 6), ("vllm", 8)):
        lora = sizing.step_seconds(SEVEN, card, 6, 10, 30, engine=engine, placement="lora")
        assert lora["training"] == pytest.approx(passes * n * 6 * 40 / (200e12 * 0.35))
        assert sizing.step_seconds(SEVEN, card, 6, 10, 30, engine=engine, placement="zero3")["training"] == pytest.approx(
            (passes + 2) * n * 6 * 40 / (200e12 * 0.35))


def test_cards_are_named_and_ordered_by_memory():
    assert list(CARDS) == [card.name for card in CARDS.values()]
    assert sorted(card.memory for card in CARDS.values()) == [card.memory for card in CARDS.values()]
    assert [card.memory for name, card in CARDS.items() if name.endswith("80GB")] == [80, 80]


def test_speeds_are_those_of_trl_where_it_knows_them():
    from trl.trainer.utils import get_peak_flops

    for name in ("A100 80GB", "H100 80GB"):
        assert CARDS[name].tflops == get_peak_flops(f"NVIDIA {name}", "bfloat16") / 1e12
