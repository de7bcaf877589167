"""What a TRL run will do, before it starts: prompts, completions and tokens a step, memory by part, and what cannot work."""
import os
from collections.abc import Mapping
from typing import NamedTuple

from lib.i18n import tr
from lib.llm import sizing

CPU_MOST = 1e9      # parameters beyond which a CPU would take hours for a step


def first_process() -> bool:
    """Whether this process is the one that speaks and writes: the only one, or the first of accelerate's."""
    return os.environ.get("RANK", "0") == "0"


class Machine(NamedTuple):
    """cards that this process sees, GB of one of them (of RAM where there is none), and processes of the whole run."""

    cards: int
    gb: float
    processes: int
    placement: str = "copy"      # as accelerate or the --lora flag will place the model

    @classmethod
    def here(cls, lora: bool = False) -> "Machine":
        """As torch sees it, and as accelerate's environment variables say."""
        import psutil
        import torch

        cards = torch.cuda.device_count()
        memory = torch.cuda.get_device_properties(0).total_memory if cards else psutil.virtual_memory().total
        placement = "lora" if lora else "copy"
        if not lora and os.environ.get("ACCELERATE_USE_DEEPSPEED") == "true":
            placement = {"2": "zero2", "3": "zero3"}.get(os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE", ""), "copy")
        elif not lora and os.environ.get("ACCELERATE_USE_FSDP") == "true":
            placement = "zero3"
        return cls(cards, memory / sizing.GB, int(os.environ.get("WORLD_SIZE", "1")), placement)


class Batch(NamedTuple):
    """An optimizer step in numbers. sampled: completions of one call of the engine, which feeds `reuse` optimizer steps."""

    prompts: int
    completions: int
    tokens: int          # of completions, at most
    sampled: int
    reuse: int
    formula: str


def batch(settings: Mapping, processes: int = 1) -> Batch:
    """settings: a GRPOConfig's fields. Raises ValueError where groups do not come out whole."""
    a, accumulation, group = (settings[name] for name in (
        "per_device_train_batch_size", "gradient_accumulation_steps", "num_generations"))
    if group < 2:
        raise ValueError(tr(en=f"num_generations={group}: a group needs at least 2 completions to compare",
                            ru=f"num_generations={group}: чтобы сравнивать, в группе нужно хотя бы 2 ответа"))
    micro = a * processes
    sampled = settings.get("generation_batch_size") or micro * (settings.get("steps_per_generation") or accumulation)
    if sampled % group or (micro * accumulation) % group:
        wrong = sampled if sampled % group else micro * accumulation
        raise ValueError(tr(
            en=f"{wrong} completions ({a} a card x {processes} x {accumulation}) do not make whole groups of {group}: set "
               f"per_device_train_batch_size or gradient_accumulation_steps so that the product divides by {group}",
            ru=f"из {wrong} ответов ({a} на карту × {processes} × {accumulation}) не выходит целых групп по {group}: "
               "задайте per_device_train_batch_size или gradient_accumulation_steps так, чтобы произведение делилось на "
               f"{group}"))
    completions = micro * accumulation
    formula = f"{a} x {processes} x {accumulation} / {group}"
    return Batch(completions // group, completions, completions * settings["max_completion_length"], sampled,
                 max(1, sampled // completions) * settings.get("num_iterations", 1), formula)


def check_context(settings: Mapping, context: int | None, prompt_tokens: int) -> None:
    """Raises ValueError where a prompt and the longest completion are more than the model's context."""
    limit = settings["max_completion_length"]
    if context and prompt_tokens + limit > context:
        most = context - prompt_tokens
        raise ValueError(tr(en=f"max_completion_length={limit} and a prompt of {prompt_tokens} tokens are more than the "
                               f"model's context of {context}: at most {most}",
                            ru=f"max_completion_length={limit} вместе с промптом в {prompt_tokens} токенов больше "
                               f"контекста модели ({context}): не больше {most}"))


def check_memory(sizes: sizing.Model, machine: Machine) -> None:
    """Raises ValueError where there is no GPU for so large a model, or where what training keeps does not fit.

    Only what is certain refuses a run: the activations, which are estimated, are left out.
    """
    if not machine.cards and sizes.parameters > CPU_MOST:
        billions = f"{sizes.parameters / 1e9:.1f}"
        raise ValueError(tr(en=f"{billions} billion parameters and no GPU: that would take hours a step. Take --model tiny "
                               "here, or start this on a machine with an NVIDIA card",
                            ru=f"{billions} миллиарда параметров и ни одной видеокарты: шаг занял бы часы. Здесь возьмите "
                               "--model tiny, а это запускайте на машине с картой NVIDIA"))
    state = sum(sizing.state_bytes(sizes, machine.placement, machine.processes).values()) / sizing.GB
    needed = state * (1 if machine.cards else machine.processes)
    if needed > machine.gb:
        raise ValueError(tr(en=f"weights, gradients and Adam take {needed:.0f} GB ({machine.placement}), there are "
                               f"{machine.gb:.0f}: {_smaller(machine)}",
                            ru=f"веса, градиенты и Adam занимают {needed:.0f} ГБ ({machine.placement}), а есть "
                               f"{machine.gb:.0f}: {_smaller(machine)}"))


def _smaller(machine: Machine) -> str:
    if machine.placement == "lora":
        return tr(en="take a smaller model or more cards", ru="возьмите модель поменьше или карты побольше")
    if machine.placement == "zero3":
        return tr(en="add --lora, or more cards", ru="добавьте --lora или карт")
    return tr(en="take ZeRO-2 or ZeRO-3 (accelerate launch --config_file) on several cards, or add --lora",
              ru="возьмите ZeRO-2 или ZeRO-3 (accelerate launch --config_file) на нескольких картах либо добавьте --lora")


def describe_steps(settings: Mapping, machine: Machine) -> str:
    """What an optimizer step consists of, and the run."""
    b, steps = batch(settings, machine.processes), settings["max_steps"]
    total = steps * b.completions
    step = tr(en=f"a step: {b.prompts} prompts ({b.formula}), {b.completions} completions, at most {b.tokens} tokens",
              ru=f"шаг: промптов {b.prompts} ({b.formula}), ответов {b.completions}, токенов не больше {b.tokens}")
    run = tr(en=f"the run: {steps} steps, {total} completions", ru=f"запуск: шагов {steps}, ответов {total}")
    if b.reuse > 1:
        run += tr(en=f"; sampled {b.sampled} at a time for {b.reuse} optimizer steps",
                  ru=f"; сэмплируются по {b.sampled} на {b.reuse} шага оптимизатора")
    return f"{step}\n{run}"


def describe_memory(settings: Mapping, machine: Machine, sizes: sizing.Model, prompt_tokens: int, vllm: str = "",
                    utilization: float = 0.3) -> str:
    """Where the memory of a card goes; of a process, where there is no card."""
    where = tr(en="a card", ru="карта") if machine.cards else tr(en="RAM of a process", ru="один процесс")
    cards = sizing.memory(sizes, machine.processes, machine.placement,
                          completions=settings["per_device_train_batch_size"], prompt_tokens=prompt_tokens,
                          completion_tokens=settings["max_completion_length"], card_gb=machine.gb,
                          vllm="colocate" if vllm == "colocate" else "", utilization=utilization,
                          sampled=batch(settings, machine.processes).sampled // machine.processes)
    parts = cards[0] if machine.cards else {name: gb for name, gb in cards[0].items() if name != "cuda"}
    unit = (lambda gb: tr(en=f"{gb:.1f} GB", ru=f"{gb:.1f} ГБ")) if sum(parts.values()) > 1 else (
            lambda gb: tr(en=f"{1000 * gb:.0f} MB", ru=f"{1000 * gb:.0f} МБ"))
    listed = ", ".join(f"{sizing.part_name(name)} {unit(gb)}" for name, gb in parts.items()
                       if gb > 0.01 * sum(parts.values()))
    total, have = unit(sum(parts.values())), f"{machine.gb:.0f}"
    return tr(en=f"memory, {where} ({machine.placement}): {listed}; in all about {total} of {have} GB",
              ru=f"память, {where} ({machine.placement}): {listed}; всего около {total} из {have} ГБ")
