"""The page on ways to draw batches shows what the commands give."""

import re
import shlex
from pathlib import Path

import pytest

from renyi import Gaussian, PLDAccountant, PoissonSampled, ShuffledBatches
from renyi.calibration import calibrate_noise_multiplier
from renyi.cli import main

TEXT = (Path(__file__).parents[2] / "docs" / "sampling.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n\$ renyi (.*?)\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize(("command", "output"), CONSOLE)
def test_commands(capsys, command, output):
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out.startswith(output)


def test_what_is_said_in_passing():
    target = {"target_epsilon": 3.0, "target_delta": 1e-6}
    noise = calibrate_noise_multiplier(sample_rate=0.01, steps=1000, **target)
    assert noise <= 0.8653 < noise + 1e-4
    poisson = PLDAccountant().compose(PoissonSampled(Gaussian(0.5), 0.001), 1000)
    shuffled = PLDAccountant(adjacency="zero_out").compose(ShuffledBatches(Gaussian(0.5), 1000))
    ratio = shuffled.get_delta_bounds(4.0)[0] / poisson.get_delta(4.0)
    assert 40_000 < ratio < 45_000
