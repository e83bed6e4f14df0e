"""Trains generators with DP-SGD; run by the study in an environment that has PyTorch and Opacus.

python train.py FOLDER: reads jobs.json there and the records that it names, writes the draws of job
0, 1, ... to 0.npy, 1.npy, ... and prints one line of JSON for each.
"""

from __future__ import annotations

import copy
import json
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from opacus import GradSampleModule
from opacus.accountants import RDPAccountant
from opacus.accountants.utils import get_noise_multiplier
from opacus.optimizers import DPOptimizer
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 64
LATENT = 8


def network(inputs: int, outputs: int) -> nn.Sequential:
    """Two hidden layers."""
    return nn.Sequential(
        nn.Linear(inputs, WIDTH),
        nn.LeakyReLU(0.2),
        nn.Linear(WIDTH, WIDTH),
        nn.LeakyReLU(0.2),
        nn.Linear(WIDTH, outputs),
    )


@cache
def noise(epsilon: float | None, delta: float, rate: float, steps: int) -> tuple[float, float]:
    """The least noise multiplier by the accountant of Renyi privacy, and what it then spends."""
    if epsilon is None:
        return 0.0, float("inf")
    sigma = get_noise_multiplier(
        target_epsilon=epsilon,
        target_delta=delta,
        sample_rate=rate,
        steps=steps,
        accountant="rdp",
        epsilon_tolerance=0.001,
    )
    accountant = RDPAccountant()
    accountant.history = [(sigma, rate, steps)]
    return sigma, accountant.get_epsilon(delta=delta)


def train(records: Tensor, job: dict[str, Any]) -> tuple[nn.Module, dict[str, float]]:
    """A generator, and what it cost.

    Only the critic's gradient at the records is private: each record's is clipped, and their sum
    noised. Its gradient at the generator's draws, and the generator, know the records through
    earlier critics only.
    """
    torch.manual_seed(job["seed"])
    sigma, spent = noise(*(job[key] for key in ("epsilon", "delta", "rate", "steps")))
    batch = job["rate"] * job["records"]
    body = network(records.shape[1], 1)
    critic = GradSampleModule(body, loss_reduction="sum")
    generator = network(LATENT, records.shape[1])
    kept = copy.deepcopy(generator)
    betas = {"betas": (0.5, 0.9)}
    inner = torch.optim.Adam(critic.parameters(), lr=job["critic_rate"], **betas)
    private = DPOptimizer(
        inner,
        noise_multiplier=sigma,
        max_grad_norm=job["clip"],
        expected_batch_size=batch,
        loss_reduction="mean",
    )
    public = torch.optim.Adam(generator.parameters(), lr=job["generator_rate"], **betas)
    weights = list(critic.parameters())
    size = round(batch)
    for step in range(1, job["steps"] + 1):
        chosen = records[torch.rand(len(records)) < job["rate"]]
        private.zero_grad()
        critic.enable_hooks()
        real_loss(critic(chosen), job).backward()
        private.pre_step()
        critic.disable_hooks()
        with torch.no_grad():
            drawn = generator(torch.randn(size, LATENT))
        gradients = torch.autograd.grad(fake_loss(body(drawn), job) / size, weights)
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad += gradient
        inner.step()
        if job["weights"]:
            with torch.no_grad():
                for weight in weights:
                    weight.clamp_(-job["weights"], job["weights"])
        if step % job["turns"] == 0:
            public.zero_grad()
            # A draw is good where the critic takes it for a record.
            loss = real_loss(body(generator(torch.randn(size, LATENT))), job) / size
            loss.backward(inputs=list(generator.parameters()))
            public.step()
            with torch.no_grad():
                for mean, now in zip(kept.parameters(), generator.parameters(), strict=True):
                    mean.lerp_(now, 1 - job["memory"])
    return kept, {"sigma": sigma, "spent": spent}


def real_loss(values: Tensor, job: dict[str, Any]) -> Tensor:
    return -values.sum() if job["weights"] else functional.softplus(-values).sum()


def fake_loss(values: Tensor, job: dict[str, Any]) -> Tensor:
    return values.sum() if job["weights"] else functional.softplus(values).sum()


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    for at, job in enumerate(json.loads((folder / "jobs.json").read_text())):
        records = torch.from_numpy(np.load(folder / job["file"])).float()
        generator, facts = train(records, job)
        with torch.no_grad():
            draws = generator(torch.randn(job["draws"], LATENT)).numpy()
        np.save(folder / f"{at}.npy", draws)
        print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
