import numpy as np
import numpy.typing as npt

def step_divergence(
    law: str, epsilon: float, shift: float, scale: float
) -> tuple[float, float]: ...

class Schedule:
    def __init__(
        self,
        law: str,
        scales: npt.NDArray[np.float64] | None,
        amplitude: float,
        power: float,
        c1: float,
        c2: float,
    ) -> None: ...
    def scales_into(self, first: int, out: npt.NDArray[np.float64]) -> None: ...

class Pass:
    def __init__(
        self, law: str, epsilon: float, record_shift: float, state_shift: float
    ) -> None: ...
    def shuffled_delta(self, scale: float, n: float) -> float: ...
    def online_deltas_into(self, schedule: Schedule, out: npt.NDArray[np.float64]) -> None: ...
    def online_worst(self, schedule: Schedule, n: int) -> tuple[float, int]: ...
    def online_delta_into(
        self,
        schedule: Schedule,
        index: int,
        n: npt.NDArray[np.int64],
        out: npt.NDArray[np.float64],
    ) -> None: ...
    def online_limit(self, schedule: Schedule, index: int) -> float: ...
