"""What GRPO needs of a machine: memory by part on each card, time to send the weights, time of a step.

Parameters are counted exactly. What follows from them alone (weights, gradients, Adam's moments, the weights on the wire) is
arithmetic. The rest (activations, logits, buffers, times) is an estimate, with its assumptions beside it, and was measured
on no GPU. TRL is 1.16 with its defaults: bfloat16, gradient checkpointing, and beta=0, so no reference model. GB are 1e9
bytes.

    from lib.llm.sizing import MODELS, memory, verdict
    memory(MODELS["Qwen2.5-1.5B"], cards=3, placement="zero2")
    print(verdict(MODELS["Qwen2.5-1.5B"], cards=3, placement="copy", card_gb=16).text)
"""
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from lib.i18n import tr

GB = 1e9
PLACEMENTS = ("copy", "zero2", "zero3", "lora")
LORA_RANK = 16
OVERHEAD = 1.0           # GB of a card that CUDA and its libraries take before any tensor
TIGHT = 0.1              # a card with a smaller share left may run out of memory at the first long completion
TILE = (4096, 32768)     # tokens and words of the vocabulary of TRL's tiles of logits (trl.kernels.chunked_logprob)
BUCKET, LIVE = 5e8, 1e9  # DeepSpeed's reduce_bucket_size and stage3_max_live_parameters by default, in parameters


class Model(NamedTuple):
    """The sizes of a Qwen2 or Qwen3 language model, as in its config.json."""

    name: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tied: bool                  # the output head is the embedding
    qkv_bias: bool = True       # Qwen2 has biases on q, k and v, Qwen3 a norm on q and k

    @property
    def parameters(self) -> int:
        """All parameters, exactly."""
        h, q, kv = self.hidden, self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = h * q + 2 * h * kv + q * h + ((q + 2 * kv) if self.qkv_bias else 2 * self.head_dim)
        layer = attention + 3 * h * self.intermediate + 2 * h
        return self.layers * layer + h + self.head * (1 if self.tied else 2)

    @property
    def head(self) -> int:
        """Parameters of the output head."""
        return self.vocab * self.hidden

    def lora_parameters(self, rank: int = LORA_RANK) -> int:
        """Parameters of LoRA adapters on all linear layers of the blocks, exactly (peft's target_modules="all-linear")."""
        h, q, kv, i = self.hidden, self.heads * self.head_dim, self.kv_heads * self.head_dim, self.intermediate
        return self.layers * rank * ((h + q) + 2 * (h + kv) + (q + h) + 3 * (h + i))

    @property
    def kv_bytes(self) -> int:
        """Bytes of KV cache a token, in bfloat16."""
        return 2 * 2 * self.layers * self.kv_heads * self.head_dim


MODELS = {model.name: model for model in (
    Model("Qwen2.5-0.5B", 24, 896, 4864, 14, 2, 64, 151936, True),
    Model("Qwen2.5-1.5B", 28, 1536, 8960, 12, 2, 128, 151936, True),
    Model("Qwen2.5-3B", 36, 2048, 11008, 16, 2, 128, 151936, True),
    Model("Qwen2.5-7B", 28, 3584, 18944, 28, 4, 128, 152064, False),
)}


def of_config(config) -> Model:
    """The sizes of a transformers config. Raises ValueError where it is no dense decoder of this kind."""
    try:
        heads, kind = config.num_attention_heads, config.model_type
        if kind not in ("qwen2", "qwen3"):
            raise AttributeError(kind)
        return Model(getattr(config, "_name_or_path", "") or kind, config.num_hidden_layers, config.hidden_size,
                     config.intermediate_size, heads, config.num_key_value_heads,
                     getattr(config, "head_dim", None) or config.hidden_size // heads, config.vocab_size,
                     config.tie_word_embeddings, kind == "qwen2")
    except AttributeError as error:
        kind = getattr(config, "model_type", type(config).__name__)
        raise ValueError(tr(
            en=f"the size of a model of type {kind} cannot be told, only of qwen2 and qwen3 ({error})",
            ru=f"размер модели типа {kind} определить нельзя, только qwen2 и qwen3 ({error})")) from error


# ── memory ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def state_bytes(model: Model, placement: str = "copy", cards: int = 1, rank: int = LORA_RANK) -> dict[str, float]:
    """Bytes a card of what training keeps, exactly: weights, gradients, optimizer. In all, 16 a parameter with Adam.

    copy: float32 weights (TRL loads so), gradients and two moments (4 + 4 + 8), all on every card. zero2: bfloat16 weights
    on every card; bfloat16 gradients, float32 weights and moments (2 + 12) divided among them. zero3 divides the weights too
    (Rajbhandari et al., 2020, arXiv:1910.02054, section 3). lora: frozen weights on every card, in bfloat16, which TRL must
    be told (model_init_kwargs={"dtype": "bfloat16"}, else it is twice as much), and 16 bytes a parameter of the adapters.
    """
    _check(placement, cards)
    n = model.parameters
    if placement == "copy":
        return {"weights": 4.0 * n, "gradients": 4.0 * n, "optimizer": 8.0 * n}
    if placement == "lora":
        adapters = model.lora_parameters(rank)
        return {"weights": 2.0 * n + 4.0 * adapters, "gradients": 4.0 * adapters, "optimizer": 8.0 * adapters}
    return {"weights": 2.0 * n / (cards if placement == "zero3" else 1), "gradients": 2.0 * n / cards,
            "optimizer": 12.0 * n / cards}


def batch_bytes(model: Model, completions: int, prompt_tokens: int, completion_tokens: int,
                placement: str = "copy") -> dict[str, float]:
    """Bytes of a micro-batch at its peak, estimated: at the fullest of three moments. All hold the inputs of all layers.

    The end of the forward pass: where weights are float32 (copy), autocast keeps bfloat16 copies of the layers. Backward
    through the head: its gradient, summed in float32, of which ZeRO makes a bfloat16 copy; none with LoRA. Backward through
    a layer: what autograd saves inside it, 21 hidden + 8 intermediate bytes a token, with float32 weights 31 instead of 21;
    a head tied to the embedding still waits with its gradient. Logits are never whole in TRL's GRPO, which works on tiles
    of completion tokens x vocabulary in bfloat16: whole ones of 8 x 256 tokens take 0.6 GB, and 1.2 GB each float32 copy.
    """
    _check(placement, 1)
    floats, tokens = placement == "copy", completions * (prompt_tokens + completion_tokens)
    inputs = (4.0 if floats else 2.0) * tokens * model.layers * model.hidden
    inside = tokens * ((31.0 if floats else 21.0) * model.hidden + 8.0 * model.intermediate)
    copies = _autocast_copies(model) if floats else 0.0
    tile = 2.0 * min(completions * completion_tokens, TILE[0]) * min(model.vocab, TILE[1])
    summed, waiting = (model.head * size for size in {"copy": (4.0, 4.0), "lora": (0.0, 0.0)}.get(placement, (6.0, 2.0)))
    waiting = waiting if model.tied else 0.0
    moments = (
        {"activations": inputs, "logits": tile, "autocast": copies},
        {"activations": inputs, "logits": tile + summed, "autocast": 0.0},
        {"activations": inputs + inside, "logits": waiting, "autocast": copies / model.layers},
    )
    return max(moments, key=lambda moment: sum(moment.values()))


def _autocast_copies(model: Model) -> float:
    """Bytes of the layers in bfloat16; embedding and head are not copied whole."""
    return 2.0 * (model.parameters - model.head * (1 if model.tied else 2))


def buffer_bytes(model: Model, placement: str, cards: int, rank: int = LORA_RANK) -> float:
    """Bytes a card of what cards exchange gradients and weights in, estimated from the defaults of DDP and DeepSpeed.

    DDP (copy, lora): a second copy of the float32 gradients. zero2: a bucket of bfloat16 gradients; zero3: besides it,
    weights gathered from the other cards. One card exchanges nothing.
    """
    _check(placement, cards)
    n = model.parameters
    if cards == 1:
        return 0.0
    if placement in ("copy", "lora"):
        return 4.0 * (n if placement == "copy" else model.lora_parameters(rank))
    return 2.0 * min(n, BUCKET) + (2.0 * min(n, LIVE) if placement == "zero3" else 0.0)


def vllm_bytes(model: Model, sequences: int, tokens: int) -> dict[str, float]:
    """Bytes that vLLM needs: bfloat16 weights, exactly, and the KV cache of so many sequences of so many tokens at once.

    It takes more: a server 0.9 of its card unless told otherwise, all that is left for a larger KV cache.
    """
    return {"weights": 2.0 * model.parameters, "kv_cache": float(sequences * tokens * model.kv_bytes)}


def memory(model: Model, cards: int = 1, placement: str = "copy", *, completions: int = 8, prompt_tokens: int = 100,
           completion_tokens: int = 256, card_gb: float = 16.0, vllm: str = "", utilization: float = 0.3,
           sampled: int = 0) -> list[dict[str, float]]:
    """GB by part at the peak of a step, a dict for each card: `state_bytes` exact, the other parts estimated.

    cards: all of them; with vllm="server" the first one only generates, the others train. vllm="colocate": on each card
    vLLM takes the share `utilization` of its card_gb (TRL's vllm_gpu_memory_utilization). completions: of one micro-batch.
    sampled: completions that a card's share of a generation batch has, micro-batch x gradient_accumulation_steps in TRL;
    0: as many as `completions`. Raises ValueError where that cannot be, such as a server on the only card.
    """
    if vllm not in ("", "server", "colocate"):
        raise ValueError(tr(en=f"vllm is 'server', 'colocate' or '', it is {vllm!r}",
                            ru=f"vllm — это 'server', 'colocate' или '', а здесь {vllm!r}"))
    _check(placement, cards)
    training = cards - 1 if vllm == "server" else cards
    if training < 1:
        raise ValueError(tr(en="a vLLM server takes a card of its own: it needs at least two, or vllm='colocate'",
                            ru="серверу vLLM нужна своя карта: их должно быть хотя бы две, или vllm='colocate'"))
    state = state_bytes(model, placement, training)
    at_work = batch_bytes(model, completions, prompt_tokens, completion_tokens, placement)
    parts = state | at_work | {"buffers": buffer_bytes(model, placement, training)}
    engine = vllm_bytes(model, sampled or completions, prompt_tokens + completion_tokens)
    if not vllm:       # transformers generates before training starts: what counts is what it takes beyond that
        taken = (2 if placement == "copy" else 1) * engine["kv_cache"]        # float32 where the weights are
        if placement == "copy":
            taken += _autocast_copies(model)
        elif placement == "zero3":
            taken += engine["weights"] - state["weights"]                     # gathered from the other cards
        parts["generation"] = max(0.0, taken - state["gradients"] - sum(at_work.values()))
    card = {name: size / GB for name, size in parts.items()} | {"cuda": OVERHEAD}
    if vllm == "colocate":
        card["vllm"] = utilization * card_gb
    found = [dict(card) for _ in range(training)]
    if vllm == "server":
        engine["kv_cache"] *= training
        found.insert(0, {name: size / GB for name, size in engine.items()} | {"cuda": OVERHEAD})
    return found


def part_name(part: str) -> str:
    """What a part of `memory` is called in a legend."""
    names = {"weights": tr(en="weights", ru="веса"), "gradients": tr(en="gradients", ru="градиенты"),
             "optimizer": tr(en="Adam's state", ru="состояние Adam"), "activations": tr(en="activations", ru="активации"),
             "logits": tr(en="logits and head", ru="логиты и голова"),
             "autocast": tr(en="bf16 copies", ru="копии в bf16"), "buffers": tr(en="exchange buffers", ru="буферы обмена"),
             "generation": tr(en="generation", ru="генерация"), "kv_cache": tr(en="KV cache", ru="KV-кэш"),
             "cuda": tr(en="CUDA itself", ru="сама CUDA"), "vllm": tr(en="vLLM's share", ru="доля vLLM")}
    return names[part]


def _check(placement, cards):
    if placement not in PLACEMENTS:
        known = ", ".join(PLACEMENTS)
        raise ValueError(tr(en=f"placement is one of {known}, it is {placement!r}",
                            ru=f"placement — одно из {known}, а здесь {placement!r}"))
    if cards < 1:
        raise ValueError(tr(en="at least one card has to train", ru="обучать должна хотя бы одна карта"))


# ── does it fit ───────────────────────────────────────────────────────────────────────────────────────────────────────
class Verdict(NamedTuple):
    """state: 'fits', 'tight' (less than a tenth of the fullest card is left) or 'no'; text: that and what to try."""

    state: str
    text: str


def verdict(model: Model, cards: int = 1, placement: str = "copy", **settings) -> Verdict:
    """Whether `memory` of the same arguments fits, as far as the estimates go. The advice is a change that would suffice."""
    card_gb = settings.setdefault("card_gb", 16.0)
    state, most = _state(model, cards, placement, settings)
    need, have = f"{most:.1f}", f"{card_gb:g}"
    if state == "fits":
        return Verdict(state, tr(en=f"Fits: the fullest card takes about {need} of {have} GB.",
                                 ru=f"Помещается: на самой полной карте занято около {need} из {have} ГБ."))
    advice = _advice(model, cards, placement, settings)
    if state == "starved":
        share, needs = f"{settings.get('utilization', 0.3) * card_gb:.1f}", f"{_least_share(model):.1f}"
        return Verdict("no", tr(
            en=f"Does not fit: vLLM's share is {share} GB and must be over {needs} GB to hold the weights; {advice}.",
            ru=f"Не помещается: доля vLLM — {share} ГБ, а одни только веса занимают {needs} ГБ; {advice}."))
    if state == "tight":
        return Verdict(state, tr(en=f"Tight: the fullest card takes about {need} of {have} GB; {advice}.",
                                 ru=f"Впритык: на самой полной карте занято около {need} из {have} ГБ; {advice}."))
    return Verdict(state, tr(en=f"Does not fit: the fullest card needs about {need} of {have} GB; {advice}.",
                             ru=f"Не помещается: самой полной карте нужно около {need} из {have} ГБ; {advice}."))


def _least_share(model: Model) -> float:
    """GB without which vLLM does not start."""
    return vllm_bytes(model, 0, 0)["weights"] / GB


def _state(model, cards, placement, settings) -> tuple[str, float]:
    """fits, tight, no, or starved (vLLM's share is too small for the weights); GB on the fullest card."""
    found, card_gb = memory(model, cards, placement, **settings), settings["card_gb"]
    most = max(sum(card.values()) for card in found)
    if most > card_gb:
        return "no", most
    if settings.get("vllm") == "colocate" and found[0]["vllm"] < _least_share(model):
        return "starved", most
    return ("tight" if most > (1 - TIGHT) * card_gb else "fits"), most


def _advice(model, cards, placement, settings) -> str:
    """The first change that makes it fit with room to spare, else the first that makes it fit at all."""
    tried = [(_state(model, cards, *change)[0], text) for change, text in _changes(cards, placement, settings)]
    for state in ("fits",) if _state(model, cards, placement, settings)[0] == "tight" else ("fits", "tight"):
        for found, text in tried:
            if found == state:
                return text
    return tr(en="no single change is enough: a smaller model, larger cards, or LoRA over 4-bit weights (QLoRA)",
              ru="одной перемены не хватит: нужна модель поменьше, карты побольше или LoRA поверх 4-битных весов (QLoRA)")


def _changes(cards, placement, settings) -> Iterator[tuple[tuple, str]]:
    """((placement, settings), advice), the mildest first."""
    completions, share = settings.get("completions", 8), settings.get("utilization", 0.3)
    fewer = completions // 2
    while fewer:
        yield ((placement, settings | {"completions": fewer, "sampled": settings.get("sampled") or completions}),
               tr(en=f"try a micro-batch of {fewer} and more gradient accumulation",
                  ru=f"попробуйте микробатч {fewer} и больше шагов накопления градиента"))
        fewer //= 2
    if settings.get("vllm") == "colocate":
        now = round(100 * share)
        for percent in sorted({*range(5, 100, 5)} - {now}, key=lambda p: (p > now, abs(p - now))):      # less first
            yield ((placement, settings | {"utilization": percent / 100}),
                   tr(en=f"try vllm_gpu_memory_utilization={percent / 100:g}",
                      ru=f"попробуйте vllm_gpu_memory_utilization={percent / 100:g}"))
    several = cards - (settings.get("vllm") == "server") > 1
    for other in PLACEMENTS[PLACEMENTS.index(placement) + 1:]:
        if several or other == "lora":
            name = placement_name(other)
            yield (other, settings), tr(en=f"try {name}", ru=f"попробуйте {name}")


def placement_name(placement: str) -> str:
    """What a placement is called in a sentence or a menu."""
    names = {"copy": tr(en="a copy on each card", ru="копия на каждой карте"), "zero2": "ZeRO-2", "zero3": "ZeRO-3",
             "lora": "LoRA"}
    return names[placement]


# ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
class Card(NamedTuple):
    """A GPU as its data sheet has it: memory in GB, bandwidth in GB/s, dense bfloat16 TFLOP/s."""

    name: str
    memory: float
    bandwidth: float
    tflops: float


CARDS = {card.name: card for card in (
    Card("RTX 4080", 16, 717, 97), Card("RTX 4090", 24, 1008, 165), Card("A100 80GB", 80, 2039, 312),
    Card("H100 80GB", 80, 3350, 989))}
EFFICIENCY = 0.35                                       # of the data sheet's TFLOP/s, in training
PER_TOKEN = {"transformers": 0.025, "vllm": 0.004}      # seconds that a decoding step takes at least, whatever the model
PASSES = {"transformers": 8.0, "vllm": 10.0}            # FLOPs a parameter and token in training


def transfer_seconds(model: Model, link_gb_per_s: float, placement: str = "zero2") -> float:
    """Seconds to send the weights to a vLLM server after an optimizer step, at the link's full speed.

    They go as they are trained: in bfloat16, but in float32 and so twice as long from a copy that TRL has loaded itself.
    """
    _check(placement, 1)
    if not link_gb_per_s > 0:
        raise ValueError(tr(en=f"a link's speed is positive, it is {link_gb_per_s} GB/s",
                            ru=f"скорость обмена положительна, а здесь {link_gb_per_s} ГБ/с"))
    return (4.0 if placement == "copy" else 2.0) * model.parameters / GB / link_gb_per_s


def step_seconds(model: Model, card: Card, answers: int, prompt_tokens: int = 100, completion_tokens: int = 256, *,
                 engine: str = "transformers", cards: int = 1, placement: str = "copy") -> Mapping[str, float]:
    """An optimizer step, estimated: {'generation', 'training'} in seconds.

    answers: all of the step; cards: those that train. Generation: one decoding step a token, as long as reading the weights
    in bfloat16 takes, and no shorter than PER_TOKEN. Training: 2 FLOPs a parameter and token forward, 4 backward (2 with
    LoRA, whose frozen weights need no gradient) and 2 to recompute, with vLLM 2 more for the log-probs before the step.
    Left out: reading the KV cache, attention between tokens, and sending anything between cards.
    """
    _check(placement, cards)
    reading = 2.0 * model.parameters / GB / card.bandwidth
    flops = (PASSES[engine] - 2.0 * (placement == "lora")) * model.parameters * answers * (prompt_tokens + completion_tokens)
    return {"generation": completion_tokens * max(reading, PER_TOKEN[engine]),
            "training": flops / (card.tflops * 1e12 * EFFICIENCY * cards)}
