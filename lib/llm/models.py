"""Loading a language model by name: 'tiny', a folder, or an id of the Hugging Face hub; and how it wants to be asked."""
from collections.abc import Sequence
from pathlib import Path

from lib.countdown.tasks import prompt
from lib.i18n import language, tr
from lib.llm.presets import TINY


def resolve(name: str) -> str:
    """What transformers is given for a name: the shipped base's folder for 'tiny', a folder as it is, or a hub id.

    Raises ValueError, at once, where there is no such folder and the hub cannot be reached or is not allowed.
    """
    from lib.llm.tiny import BASE, check_base

    if name == TINY:
        check_base()
        return str(BASE)
    if Path(name).is_dir():
        if not (Path(name) / "config.json").is_file():
            raise ValueError(tr(en=f"{name} holds no model: a config.json belongs into it",
                                ru=f"в {name} нет модели: там должен лежать config.json"))
        return name
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        raise ValueError(tr(en=f"there is no folder {name}; a model of the hub is called like Qwen/Qwen2.5-0.5B-Instruct, "
                               "the course's own one is --model tiny",
                            ru=f"папки {name} нет; модель с хаба называется как Qwen/Qwen2.5-0.5B-Instruct, модель самого "
                               "курса — --model tiny"))
    check_hub(name)
    return name


def check_hub(name: str) -> None:
    """One request: transformers itself would retry for over a minute before it says that there is no network."""
    import httpx
    from huggingface_hub import constants, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(name, "config.json"), str):
        return
    reason = tr(en="HF_HUB_OFFLINE is set", ru="задано HF_HUB_OFFLINE") if constants.HF_HUB_OFFLINE else ""
    if not reason:
        try:
            httpx.head(constants.ENDPOINT, timeout=10, follow_redirects=True)
            return
        except httpx.HTTPError as error:
            reason = f"{type(error).__name__}: {error}"
    folder = name.split("/")[1]
    raise ValueError(tr(
        en=f"{name} is not in the cache and the hub cannot be reached ({reason}). On a machine with network: hf download "
           f"{name} --local-dir {folder}; copy that folder here and pass --model {folder}",
        ru=f"модели {name} в кеше нет, а хаб недоступен ({reason}). На машине с сетью: hf download {name} --local-dir "
           f"{folder}; скопируйте эту папку сюда и укажите --model {folder}"))


def load_config(path: str):
    """A model's transformers config. Raises ValueError where the hub has no such model or its files cannot be read."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(path)
    except (OSError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise ValueError(tr(en=f"the model {path} cannot be loaded: {first}",
                            ru=f"модель {path} загрузить не удалось: {first}")) from error


def load_tokenizer(path: str):
    """A folder's own tokenizer, padding on the left.

    AutoTokenizer gives a folder of type qwen2 Qwen's tokenizer, whatever its tokenizer.json says, and without a word: a
    model with a vocabulary of its own then reads nonsense. So the two are compared, and the file is believed.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
    if (Path(path) / "tokenizer.json").is_file():
        own = PreTrainedTokenizerFast.from_pretrained(path, padding_side="left")
        probe = rendered(own, prompt({"nums": [3, 7, 10], "target": 31}, language())) + "<think>3*7=21, 21+10=31"
        if own(probe).input_ids != tokenizer(probe).input_ids:
            tokenizer = own
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load(name: str = TINY):
    """(model in float32, tokenizer) by name. Raises ValueError as `resolve` does."""
    import torch
    from transformers import AutoModelForCausalLM

    quiet()
    path = resolve(name)
    return AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32), load_tokenizer(path)


def quiet() -> None:
    """No bars of transformers' own for loading and writing files: they fill a log and say nothing of the run."""
    from transformers.utils import logging

    logging.disable_progress_bar()


# ── asking ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def rendered(tokenizer, chat: Sequence[dict]) -> str:
    """The prompt as the model reads it; the bare text where the tokenizer has no chat template, as with some base models."""
    if tokenizer.chat_template is None:
        return chat[-1]["content"] + "\n"
    return tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)


def opened(tokenizer) -> str:
    r"""What the chat template writes of the reply itself: '<think>\n' where it opens the reasoning, as R1's distillates do.

    The model's own text then lacks the tag, and a reward that looks for it would pay nobody.
    """
    _, tag, after = rendered(tokenizer, [{"role": "user", "content": ""}]).rpartition("<think>")
    return tag + after if tag and not after.strip() else ""
