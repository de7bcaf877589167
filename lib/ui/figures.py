"""The pictures of lessons 01 and 02. Each draws the tensors that it is given and computes as little as it can.

B prompts, G answers a prompt, N answers, T tokens an answer at most, V tokens in the vocabulary, as in `lib.toy`. Every
function returns a Figure that belongs to no window: show it as a cell's value or save it with `figure.savefig`.
"""
import math
import re
from collections.abc import Mapping, Sequence

import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator

from lib.i18n import tr
from lib.runlog.plot import COLORS, MARKERS
from lib.toy.grpo import LOSSES, clipped_objective, degenerate, kl_k3, token_weights
from lib.toy.task import VOCAB, answer_mask

# Hatches, dashes, markers and texts say without colours what the colours say.
BLUE, ORANGE, GREEN = COLORS[:3]
PALE, GREY = "#CFE6F5", "#8A8A8A"
DASHES = ("-", "--", "-.", ":")
MONO = {"family": "DejaVu Sans Mono"}


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _plain(axes, grid: str = "both") -> None:
    axes.grid(alpha=0.25, axis=grid)
    axes.spines[["top", "right"]].set_visible(False)


# ── sampling ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def next_token(probs: torch.Tensor, die: float) -> Figure:
    """Each token's probability as a bar, and the same bars end to end on [0, 1], where the die picks one: probs [V]."""
    ends, probs = probs.cumsum(0).tolist(), probs.tolist()
    picked = min(sum(end < die for end in ends), len(probs) - 1)
    figure = _figure(8.5, 4.2)
    bars, strip = figure.subplots(2, 1, height_ratios=(3, 1))
    heights = bars.bar(range(len(probs)), probs, color=PALE, edgecolor=BLUE)
    bars.bar_label(heights, [f"{p:.2f}" for p in probs], fontsize=9)
    heights[picked].set(facecolor=ORANGE, hatch="//")
    bars.set_xticks(range(len(probs)), VOCAB[: len(probs)], fontsize=12, **MONO)
    bars.set(ylabel=tr(en="probability", ru="вероятность"), xlabel=tr(en="next token", ru="следующий токен"))
    bars.margins(y=0.15)
    _plain(bars, "y")
    for token, (end, p) in enumerate(zip(ends, probs, strict=True)):
        chosen = token == picked
        strip.barh(0, p, left=end - p, color=ORANGE if chosen else PALE, edgecolor=BLUE, hatch="//" if chosen else "")
        if p > 0.015:
            strip.text(end - p / 2, -0.62, VOCAB[token], ha="center", va="top", fontsize=11, **MONO)
    strip.plot(die, 0.62, marker="v", color="black", markersize=9)
    strip.annotate(tr(en=f"die {die:.3f} → token {VOCAB[picked]}", ru=f"кубик {die:.3f} → токен {VOCAB[picked]}"),
                   (die, 0.75), (0, 4), textcoords="offset points", ha="left" if die < 0.5 else "right", fontsize=10)
    strip.set(xlim=(0, 1), ylim=(-1.1, 1.5), yticks=[])
    strip.spines[["top", "right", "left"]].set_visible(False)
    return figure


def answer_cells(prompts: torch.Tensor, answers: torch.Tensor, lengths: torch.Tensor) -> Figure:
    """Every token of prompt and answer in a cell of its own; the mask's ones are shaded: [N, P], [N, T], [N]."""
    mask = answer_mask(lengths, answers.shape[1])
    P = prompts.shape[1]
    N, width = len(prompts), P + answers.shape[1]
    figure = _figure(0.52 * width + 0.8, 0.36 * N + 1.1)
    axes = figure.subplots()
    for n, (prompt, answer) in enumerate(zip(prompts.tolist(), answers.tolist(), strict=True)):
        for t, token in enumerate([*prompt, *answer]):
            part = "prompt" if t < P else "answer" if mask[n, t - P] else "padding"
            _cell(axes, t, n, VOCAB[token], part)
    _cell_axes(axes, width, N)
    axes.set_xticks([(P - 1) / 2, P + (width - P - 1) / 2],
                    [tr(en="prompt: mask 0", ru="промпт: маска 0"),
                     tr(en="answer: mask 1 (blue), padding behind it: mask 0 (hatched)",
                        ru="ответ: маска 1 (синее), паддинг за ним: маска 0 (штриховка)")])
    axes.xaxis.tick_top()
    axes.set_yticks(range(N), [tr(en=f"answer {n + 1}", ru=f"ответ {n + 1}") for n in range(N)])
    return figure


def _cell(axes, x, y, text, part) -> None:
    looks = {"prompt": {"facecolor": "#EDEDED"}, "answer": {"facecolor": PALE, "edgecolor": BLUE},
             "padding": {"facecolor": "white", "hatch": "////", "edgecolor": "#C8C8C8"}}
    order = 2 if part == "answer" else 1
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, zorder=order, gid=part, **({"edgecolor": "white"} | looks[part])))
    axes.text(x, y, text, ha="center", va="center", fontsize=8 if len(text) > 1 else 12, zorder=3,
              color=GREY if part == "padding" else "black", weight="bold" if part == "answer" else "normal", **MONO)


def _signed(number: str) -> str:
    """A minus as wide as the plus, and none before a zero."""
    return re.sub(r"-(?=0\.0+$)", "", number).replace("-", "−")


def _cell_axes(axes, width, height) -> None:
    axes.set(xlim=(-0.55, width - 0.45), ylim=(height - 0.45, -0.55))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def token_logprobs(answers: torch.Tensor, lengths: torch.Tensor, logp: torch.Tensor) -> Figure:
    """Under each token of an answer its log-prob, darker where the token was likelier; the sum at the right.

    answers [N, T], lengths [N], logp [N, T] -> Figure.
    """
    N, T = len(answers), int(lengths.max())
    mask, logp = answer_mask(lengths, T), logp[:, :T]
    figure = _figure(0.72 * (T + 3), 0.62 * N + 0.5)
    axes = figure.subplots()
    axes.imshow(torch.where(mask > 0, logp.exp(), torch.nan).numpy(), cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
    for n, length in enumerate(lengths.tolist()):
        for t in range(length):
            axes.text(t, n - 0.16, VOCAB[answers[n, t]], ha="center", va="center", fontsize=12, weight="bold", **MONO)
            axes.text(t, n + 0.26, _signed(f"{logp[n, t]:.2f}"), ha="center", va="center", fontsize=8.5)
        total = (logp[n] * mask[n]).sum()
        axes.text(T - 0.3, n, _signed(f"Σ log p = {total:.2f}\np = {total.exp():.2g}"), va="center", fontsize=9)
    _cell_axes(axes, T + 2.4, N)
    axes.set_xticks(range(T), [f"t={t}" for t in range(T)])
    axes.set_yticks(range(N), [tr(en=f"answer {n + 1}", ru=f"ответ {n + 1}") for n in range(N)])
    return figure


# ── groups ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def reward_table(rewards: torch.Tensor) -> Figure:
    """The rewards of all answers, a column a group; degenerate groups are hatched and crossed: rewards [B, G]."""
    return _group_table(rewards, degenerate(rewards), write=lambda r: f"{r:g}", cmap=ListedColormap(["white", "#7DB9DE"]),
                        norm=Normalize(0, 1), edge="#CCCCCC",
                        legend=tr(en="blue 1: right answer, white 0: wrong one; × and hatching: degenerate group",
                                  ru="синяя 1: верный ответ, белый 0: неверный; × и штриховка: вырожденная группа"))


def advantage_table(advantages: torch.Tensor) -> Figure:
    """The advantages of all answers, a column a group; groups without any are hatched and crossed: advantages [B, G]."""
    largest = max(1.0, advantages.abs().max().item())
    return _group_table(advantages, degenerate(advantages), write=lambda a: f"{a:+.1f}" if abs(a) >= 0.05 else "0",
                        cmap="PuOr_r", norm=Normalize(-1.4 * largest, 1.4 * largest), edge="white",
                        legend=tr(en="orange, +: better than its group; violet, −: worse; × and hatching: advantages are 0",
                                  ru="оранжевое, +: лучше своей группы; фиолетовое, −: хуже; × и штриховка: преимущества "
                                     "равны 0"))


def _group_table(values, dead, write, cmap, norm, edge, legend) -> Figure:
    B, G = values.shape
    figure = _figure(max(8.8, 0.33 * B + 0.9), 0.3 * G + 1.1)   # wide enough for the legend
    axes = figure.subplots()
    axes.imshow(values.T.numpy(), cmap=cmap, norm=norm, aspect="auto")
    for b in range(B):
        for g in range(G):
            axes.text(b, g, _signed(write(values[b, g].item())), ha="center", va="center", fontsize=7)
        if dead[b]:
            axes.add_patch(Rectangle((b - 0.5, -0.5), 1, G, fill=False, hatch="////", edgecolor="#B0B0B0", linewidth=0,
                                     gid=f"dead {b}"))
            axes.text(b, -0.55, "×", ha="center", va="bottom", fontsize=13, weight="bold")
    for b in range(B + 1):
        axes.axvline(b - 0.5, color=edge, linewidth=1)
    axes.set_xticks(range(B), range(1, B + 1), fontsize=8)
    axes.set_yticks(range(G), range(1, G + 1), fontsize=8)
    axes.tick_params(length=0)
    axes.set(xlabel=tr(en="group (one prompt each)\n", ru="группа (у каждой свой промпт)\n") + legend,
             ylabel=tr(en="answer", ru="ответ"))
    axes.spines[["top", "right", "bottom", "left"]].set_visible(False)
    return figure


# ── the objective ─────────────────────────────────────────────────────────────────────────────────────────────────────
def clipping(eps_low: float = 0.2, eps_highs: Sequence[float] = (0.2, 0.28), largest: float = 2.0) -> Figure:
    """The clipped objective of one token and its gradient by log π over the ratio, for A = +1 and A = -1."""
    figure = _figure(9.5, 5.4)
    panels = figure.subplots(2, 2, sharex=True)
    for column, advantage in enumerate((1.0, -1.0)):
        value_axes, slope_axes = panels[:, column]
        ratio, free, _ = ratio_curve(advantage, None, None, largest)
        value_axes.plot(ratio, free, color=GREY, linestyle=":", label=tr(en="without clip: ratio · A",
                                                                         ru="без клиппинга: ratio · A"))
        for style, color, eps_high in zip(DASHES, (BLUE, ORANGE, GREEN), eps_highs, strict=False):
            ratio, value, slope = ratio_curve(advantage, eps_low, eps_high, largest)
            value_axes.plot(ratio, value, color=color, linestyle=style, linewidth=2, label=f"eps_high = {eps_high:g}")
            slope_axes.plot(ratio, slope, color=color, linestyle=style, linewidth=2)
        value_axes.set_title(_signed(tr(en=f"A = {advantage:+g}: objective", ru=f"A = {advantage:+g}: цель")), fontsize=11)
        slope_axes.set_title(tr(en="its gradient by log π", ru="её градиент по log π"), fontsize=11)
        slope_axes.set_xlabel(r"ratio = $\pi\;/\;\pi_\mathrm{old}$")
        for axes in (value_axes, slope_axes):
            bounds = [1 - eps_low] if advantage < 0 else [1 + e for e in eps_highs]
            for bound in bounds:
                axes.axvline(bound, color=GREY, linewidth=0.8)
            axes.plot(1, advantage, "o", color="black", markersize=6, zorder=3)
            _plain(axes)
    handles, names = panels[0, 0].get_legend_handles_labels()
    point = tr(en="the first step on a batch: ratio = 1", ru="первый шаг на батче: ratio = 1")
    handles.append(panels[0, 0].get_lines()[-1])
    figure.legend(handles, [*names, point], loc="outside lower center", ncols=4, frameon=False)
    return figure


def ratio_curve(advantage: float, eps_low: float | None, eps_high: float | None, largest: float = 2.0, points: int = 401):
    """ratio [points], the token's objective there and its gradient by log π; without eps, the objective without clip."""
    ratio = torch.linspace(0.0, largest, points)[1:]
    logp = ratio.log().requires_grad_()
    if eps_low is None:
        value = logp.exp() * advantage
    else:
        old, A = torch.zeros(1, len(ratio)), torch.tensor([advantage])
        value = clipped_objective(logp[None], old, A, eps_low, eps_high)[0]
    slope, = torch.autograd.grad(value.sum(), logp)
    return ratio.numpy(), value.detach().numpy(), slope.numpy()


def kl_estimates(p: torch.Tensor, q: torch.Tensor, tokens: torch.Tensor) -> Figure:
    """k3 as the gap between a curve and its tangent, and the batch means of k1 and k3 against the exact KL.

    p, q [V]: policy and reference; tokens [R, n]: R batches of n tokens sampled from p.
    """
    k1, k3 = p.log() - q.log(), kl_k3(p.log(), q.log())
    figure = _figure(10, 3.7)
    gap, means = figure.subplots(1, 2)
    _tangent_gaps(gap, (-k1).tolist(), k3.tolist())
    _batch_means(means, k1[tokens].mean(1).numpy(), k3[tokens].mean(1).numpy())
    exact, n = (p * k1).sum().item(), tokens.shape[1]
    means.axvline(exact, color="black", linestyle="--", label=tr(en=f"exact KL {exact:.4f}", ru=f"точный KL {exact:.4f}"))
    means.set_xlabel(tr(en=f"mean over a batch of {n} tokens", ru=f"среднее по батчу из {n} токенов"))
    means.legend(frameon=False)
    return figure


def _tangent_gaps(axes, d: list[float], k3: list[float]) -> None:
    line = torch.linspace(-1.6, 1.8, 100).numpy()
    axes.plot(line, math.e**line, color=BLUE, linewidth=2, label=r"$e^d$")
    axes.plot(line, 1 + line, color=GREY, linestyle="--", label=tr(en="tangent 1 + d", ru="касательная 1 + d"))
    for i, (x, height) in enumerate(zip(d, k3, strict=True)):
        axes.plot([x, x], [1 + x, 1 + x + height], color=ORANGE, linewidth=3, solid_capstyle="butt",
                  label="k3" if i == 0 else None)
        axes.annotate(f"{height:.2f}", (x, 1 + x), (0, -5), textcoords="offset points", ha="center", va="top", fontsize=9)
    axes.set_xlabel(r"$d = \log\,\pi_\mathrm{ref} - \log\,\pi$")
    axes.legend(frameon=False, loc="upper left")
    _plain(axes)


def _batch_means(axes, k1, k3) -> None:
    for name, values, style in (("k1", k1, {"color": GREY, "hatch": "//", "alpha": 0.45}),
                                ("k3", k3, {"color": BLUE, "alpha": 0.75})):
        span = min(k1.min(), k3.min()), max(k1.max(), k3.max())
        axes.hist(values, 30, range=span, label=name, edgecolor="white", **style)
    axes.set_ylabel(tr(en="batches", ru="батчей"))
    _plain(axes, "y")


def weights(lengths: Sequence[int]) -> Figure:
    """What each token of answers of these lengths weighs under the three ways of averaging, and each answer's sum."""
    lengths = torch.tensor(lengths)
    N, T = len(lengths), int(lengths.max())
    mask = answer_mask(lengths, T)
    found = {loss: token_weights(mask, loss) for loss in LOSSES}
    figure = _figure(0.62 * T + 3.4, 0.42 * N * len(found) + 1.0)
    axes = figure.subplots()
    height = 0.0
    for loss, values in found.items():
        for n in range(N):
            for t in range(int(lengths[n])):
                weight = values[n, t].item()
                axes.add_patch(Rectangle((t, height), 0.94, 0.9, facecolor=BLUE, alpha=0.15 + 0.85 * min(1, weight / 0.2),
                                         gid=f"{loss} {n} {t}"))
                axes.text(t + 0.47, height + 0.45, f"{weight:.3f}", ha="center", va="center", fontsize=9,
                          color="white" if weight > 0.1 else "black")
            axes.text(T + 0.2, height + 0.45, f"Σ = {values[n].sum():.2f}", va="center", fontsize=10)
            axes.text(-0.15, height + 0.45, tr(en=f"{loss}, {lengths[n]} tokens", ru=f"{loss}, токенов: {lengths[n]}"),
                      ha="right", va="center", fontsize=10)
            height += 1
        height += 0.5
    axes.set(xlim=(-2.9, T + 1.5), ylim=(height - 0.4, -0.2))
    axes.axis("off")
    return figure


def step_effect(advantages: torch.Tensor, change: torch.Tensor) -> Figure:
    """What one step did to each answer: its advantage [N] against the change of its log-prob [N]."""
    figure = _figure(6.5, 3.8)
    axes = figure.subplots()
    for name, rows, marker, color in (("A > 0", advantages > 0, "^", BLUE), ("A = 0", advantages == 0, "o", GREY),
                                      ("A < 0", advantages < 0, "v", ORANGE)):
        if rows.any():
            mean = _signed(f"{change[rows].mean():+.2f}")
            axes.scatter(advantages[rows].numpy(), change[rows].numpy(), s=26, marker=marker, color=color, alpha=0.6,
                         label=_signed(name) + tr(en=f": {int(rows.sum())} answers, mean {mean}",
                                                  ru=f": ответов {int(rows.sum())}, среднее {mean}"))
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_yscale("symlog", linthresh=0.5)   # a few unlikely answers move far more than the rest
    axes.yaxis.set_major_locator(FixedLocator([-8, -4, -2, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 2, 4, 8]))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set(xlabel=tr(en="advantage of the answer", ru="преимущество ответа"),
             ylabel=tr(en="change of log π(answer)", ru="изменение log π(ответ)"))
    axes.legend(frameon=False, fontsize=9)
    _plain(axes)
    return figure


# ── results ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def pass_at_k(curves: Mapping[str, Mapping[int, float]], equal_tasks: bool = False) -> Figure:
    """pass@k over k, a line a model: name -> {k: pass@k}.

    equal_tasks adds 1 - (1 - pass@1)^k of the first model: what it would be if all tasks were equally hard for it.
    """
    figure = _figure(6.5, 3.8)
    axes = figure.subplots()
    ks = sorted({k for curve in curves.values() for k in curve})
    looks = zip(MARKERS, DASHES, (BLUE, ORANGE, GREEN, GREY), strict=True)
    for (name, curve), (marker, dashes, color) in zip(curves.items(), looks, strict=False):
        axes.plot(list(curve), list(curve.values()), marker=marker, linestyle=dashes, color=color, label=name)
    if equal_tasks:
        one = next(iter(curves.values()))[1]
        axes.plot(ks, [1 - (1 - one) ** k for k in ks], linestyle=":", marker="x", color=GREY,
                  label=tr(en="if all tasks were equally hard", ru="если бы все задачи были одинаково трудны"))
    axes.set_xscale("log", base=2)
    axes.set_xticks(ks, ks)
    axes.set(ylim=(0, 1.03), xlabel=tr(en="k, tries a task", ru="k, попыток на задачу"), ylabel="pass@k")
    axes.legend(frameon=False)
    _plain(axes)
    return figure
