from typing import Literal

import numpy as np
import numpy.typing as npt

PairName = Literal["remove", "add", "replace_one"]
Route = Literal["nothing new", "closed form", "bounds", "line", "split sum", "long line"]
_Array = npt.NDArray[np.float64]

class SampledGaussianQuestions:
    def delta_into(self, epsilons: _Array, out: _Array, known: _Array | None = None, /) -> None: ...
    def epsilon_into(self, deltas: _Array, out: _Array, known: _Array | None = None, /) -> None: ...
    def rough_delta(self, epsilon: float, /) -> float: ...
    @property
    def route(self) -> Route: ...

class SampledGaussianCurve:
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def add(self, q: float, sigma: float, count: float, /) -> None: ...
    def questions(self, pair: PairName, /) -> SampledGaussianQuestions: ...
    def epsilon_after_into(
        self,
        repeated: SampledGaussianCurve,
        times: _Array,
        delta: float,
        pair: PairName,
        out: _Array,
        /,
    ) -> None: ...
