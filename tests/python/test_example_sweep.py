"""The sweep over a cluster gives what one process gives."""

import numpy as np
import pytest
from examples import sweep as program

from renyi import special


def test_small(capsys):
    assert program.main(["--points", "1e3", "--workers", "1"]) == 0
    out = capsys.readouterr().out
    q, sigma, alpha = (
        np.geomspace(low, high, 10) for low, high in ((1e-4, 0.1), (0.8, 8.0), (1.1, 64.0))
    )
    values = special.rdp_sampled_gaussian_upper(q[:, None, None], sigma[:, None], alpha)
    assert out.startswith("1,000 settings in ")
    assert float(out.split()[-1]) == pytest.approx(values.mean(), rel=1e-5)


@pytest.mark.parametrize("wrong", [["--points", "0"], ["--workers", "0"], ["--points", "inf"]])
def test_wrong_options(capsys, wrong):
    assert program.main(wrong) == 2
    assert capsys.readouterr().err.startswith("sweep: error: ")
