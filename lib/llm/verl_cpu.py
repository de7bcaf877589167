"""A plugin with which verl trains on a machine without a GPU: real GRPO and DAPO steps of a tiny model.

    VERL_USE_EXTERNAL_MODULES=lib.llm.verl_cpu VERL_PLATFORM=cpu python -m verl.trainer.main_ppo …

verl 0.9.1 loads it by itself, in each of its processes, through these two variables. It adds what verl has for GPUs only,
by verl's own hooks: a platform 'cpu', the FSDP engine for it, and a rollout that samples with transformers in place of
vLLM. The trainer, the agent loop, the reward loop, losses, metrics and logs are verl's own.
"""
import asyncio
import os
import types
from collections.abc import Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch

ROLLOUT = "transformers"       # actor_rollout_ref.rollout.name
WAIT = 0.05                    # seconds without a new request after which those that wait are sampled together
MOST = 256                     # sequences at once


class Request(NamedTuple):
    """A reply to sample: token ids of the prompt, tokens at most, temperature (0: the most probable token)."""

    prompt: Sequence[int]
    limit: int
    temperature: float


@torch.no_grad()
def sample(model, requests: Sequence[Request], ends: set[int], pad: int) -> list[tuple[list[int], list[float]]]:
    """Samples all requests in one batch; for each the tokens, the end token included, and their log-probabilities."""
    longest = max(len(request.prompt) for request in requests)
    tokens = torch.tensor([[pad] * (longest - len(r.prompt)) + list(r.prompt) for r in requests])
    mask = torch.tensor([[0] * (longest - len(r.prompt)) + [1] * len(r.prompt) for r in requests])
    temperature = torch.tensor([[r.temperature] for r in requests])
    found: list[tuple[list[int], list[float]]] = [([], []) for _ in requests]
    active, cache = list(range(len(requests))), None
    while active:
        position = mask.sum(1, keepdim=True) - 1
        given = {"position_ids": (mask.cumsum(1) - 1).clamp(min=0)} if cache is None else {"position_ids": position}
        out = model(input_ids=tokens, attention_mask=mask, past_key_values=cache, use_cache=True, **given)
        cache = out.past_key_values
        logits = out.logits[:, -1].float()
        logp = torch.log_softmax(torch.where(temperature > 0, logits / temperature.clamp(min=1e-6), logits), -1)
        drawn = torch.where(temperature > 0, torch.multinomial(logp.exp(), 1), logp.argmax(1, keepdim=True))
        paid = logp.gather(1, drawn)
        going = []
        for row, number in enumerate(active):
            token = drawn[row].item()
            found[number][0].append(token)
            found[number][1].append(paid[row].item())
            if token not in ends and len(found[number][0]) < requests[number].limit:
                going.append(row)
        if len(going) < len(active):
            rows = torch.tensor(going, dtype=torch.long)
            active = [active[row] for row in going]
            if active:
                cache.batch_select_indices(rows)
            drawn, mask, temperature = drawn[rows], mask[rows], temperature[rows]
        tokens, mask = drawn, torch.cat([mask, torch.ones_like(drawn)], 1)
    return found


# ── 1. the platform ───────────────────────────────────────────────────────────────────────────────────────────────────
class NoDevice(types.ModuleType):
    """Stands where verl expects torch.cuda: nothing is available, what is asked for does nothing and says 0."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: 0

    def is_available(self):
        return False

    def device_count(self):
        return 1

    def mem_get_info(self, *args):
        return 0, 0

    def get_device_name(self, *args):
        return "CPU"

    def get_rng_state(self, *args):
        return torch.get_rng_state()

    def set_rng_state(self, state, *args):
        torch.set_rng_state(state)


def register_platform() -> None:
    from verl.plugin.platform.platform_base import PlatformBase
    from verl.plugin.platform.platform_manager import PlatformRegistry

    @PlatformRegistry.register(platform="cpu")
    class Cpu(PlatformBase):
        device_name = vendor_name = property(lambda self: "cpu")
        device_module = property(lambda self: NO_DEVICE)

        def is_available(self):
            return True

        def is_platform_available(self, use_smi_check=False):
            return os.environ.get("VERL_PLATFORM") == "cpu"

        def current_device(self):
            return torch.device("cpu")

        def device_count(self):
            return 1

        def nothing(self, *args):
            pass

        set_device = synchronize = set_allocator_settings = empty_cache = profiler_start = profiler_stop = nothing

        def manual_seed(self, seed):
            torch.manual_seed(seed)

        manual_seed_all = manual_seed

        def get_device_capability(self, index=0):
            return None, None

        def communication_backend_name(self):
            return "gloo"

        def visible_devices_envvar(self):
            return "CUDA_VISIBLE_DEVICES"

        @contextmanager
        def nvtx_range(self, message):
            yield

        def ray_resource_name(self):
            return "GPU"         # Ray is told of so many: ray_kwargs.ray_init.num_gpus

        def ray_resource_options(self, number):
            return {"num_gpus": number}

        def ray_noset_envvars(self):
            return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

        def is_ipc_supported(self):
            return False

        def cudart(self):
            return None


# ── 2. the engine that trains ─────────────────────────────────────────────────────────────────────────────────────────
def register_engine() -> None:
    import verl.utils.distributed as distributed
    import verl.workers.engine.fsdp.transformer_impl as fsdp
    import verl.workers.engine_workers as workers
    from verl.workers.engine.base import EngineRegistry

    fsdp.CPUOffloadPolicy = lambda pin_memory=True: None       # no pinned memory without a GPU, and nothing to offload to
    begin = distributed.initialize_global_process_group_ray    # would ask for the backend 'cpu:gloo,cpu:gloo'
    distributed.initialize_global_process_group_ray = workers.initialize_global_process_group_ray = (
        lambda timeout_second=None, backend=None: begin(timeout_second, backend or "gloo"))
    EngineRegistry.register(model_type="language_model", backend=["fsdp2"], device="cpu")(fsdp.FSDPEngineWithLMHead)


# ── 3. the rollout ────────────────────────────────────────────────────────────────────────────────────────────────────
class Server:
    """Samples for verl's agent loop, which asks for one sequence at a time: those that wait are sampled together."""

    def __init__(self, path: str, response_length: int, context: int):
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(1)
        self.model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        self.response_length, self.context, self.global_steps = response_length, context, 0
        ends = self.model.generation_config.eos_token_id
        self.ends = set(ends if isinstance(ends, list) else [ends])
        pad = AutoTokenizer.from_pretrained(path).pad_token_id
        self.pad = 0 if pad is None else pad
        self.waiting: list[tuple[Request, asyncio.Future]] = []
        self.worker = None

    async def generate(self, prompt_ids, sampling_params, request_id, image_data=None, video_data=None, **kwargs):
        from verl.workers.rollout.replica import TokenOutput

        limit = min(sampling_params.get("max_tokens") or self.response_length, self.context - len(prompt_ids))
        answer = asyncio.get_running_loop().create_future()
        self.waiting.append((Request(list(prompt_ids), limit, float(sampling_params.get("temperature", 1.0))), answer))
        if self.worker is None or self.worker.done():
            self.worker = asyncio.create_task(self._work())
        tokens, logps = await answer
        return TokenOutput(token_ids=tokens, log_probs=logps, stop_reason="completed", num_preempted=0,
                           extra_fields={"global_steps": self.global_steps})

    async def _work(self):
        while self.waiting:
            seen = 0
            while seen < len(self.waiting) < MOST:
                seen = len(self.waiting)
                await asyncio.sleep(WAIT)
            now, self.waiting = self.waiting[:MOST], self.waiting[MOST:]
            try:
                replies = await asyncio.to_thread(sample, self.model, [request for request, _ in now], self.ends, self.pad)
            except Exception as error:     # noqa: BLE001 -- each of those who wait must hear of it, or verl hangs
                for _, answer in now:
                    answer.set_exception(error)
                continue
            for (_, answer), reply in zip(now, replies, strict=True):
                if not answer.done():
                    answer.set_result(reply)

    async def load_weights(self, weights, global_steps):
        missing, unexpected = self.model.load_state_dict(weights, strict=False)
        if unexpected or set(missing) - {"lm_head.weight"}:     # a head tied to the embedding is sent once
            raise RuntimeError(f"weights of another model: {unexpected}, missing {missing}")
        if global_steps is not None:
            self.global_steps = global_steps

    async def nothing(self, *args, **kwargs):
        return None

    wake_up = sleep = abort_all_requests = resume_generation = clear_kv_cache = nothing
    release_kv_cache = resume_kv_cache = start_profile = stop_profile = nothing


def server_name(rank: int) -> str:
    return f"{ROLLOUT}_server_{rank}"


def register_rollout() -> None:
    import ray
    from verl.workers.rollout import base
    from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry

    class Replica(RolloutReplica):
        async def launch_servers(self):
            name, config, model = server_name(self.replica_rank), self.config, self.model_config
            server = ray.remote(num_cpus=0)(Server).options(name=name, max_concurrency=2 * MOST).remote(
                getattr(model, "path", None) or model["path"], config.response_length,
                config.prompt_length + config.response_length)
            self.servers, self._server_handle, self._server_address = [server], server, name

    class ServerAdapter(base.BaseRollout):
        """The training process's side: it sends the weights."""

        def __init__(self, config, model_config, device_mesh, *args, **kwargs):
            super().__init__(config, model_config, device_mesh)
            self.server = None

        async def resume(self, tags):
            pass

        async def release(self):
            pass

        async def update_weights(self, weights, wire_format="named_tensors", global_steps=None, **kwargs):
            state = {name: tensor.detach().float().clone() for name, tensor in weights}
            self.server = self.server or ray.get_actor(server_name(int(os.environ["RANK"])))
            await self.server.load_weights.remote(state, global_steps)

    globals()["ServerAdapter"] = ServerAdapter      # verl imports it by this module's name
    base._ROLLOUT_REGISTRY[(ROLLOUT, "async")] = f"{__name__}.ServerAdapter"
    RolloutReplicaRegistry.register(ROLLOUT, lambda: Replica)


if os.environ.get("VERL_PLATFORM") == "cpu":       # as verl's processes import it; elsewhere only `sample` is wanted
    NO_DEVICE = NoDevice("no_device")
    register_platform()
    register_engine()
    register_rollout()
