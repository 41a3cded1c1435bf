from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt

__all__: list[str]

# NumPy's own class leaves the calls untyped; like NumPy's stubs for its ufuncs, these
# subclasses exist for type checkers only.

class _Binary(np.ufunc):  # type: ignore[misc]
    @overload
    def __call__(self, x1: float, x2: float, /) -> np.float64: ...
    @overload
    def __call__(self, x1: npt.ArrayLike, x2: npt.ArrayLike, /, **kwargs: Any) -> Any: ...

class _Ternary(np.ufunc):  # type: ignore[misc]
    @overload
    def __call__(self, x1: float, x2: float, x3: float, /) -> np.float64: ...
    @overload
    def __call__(
        self, x1: npt.ArrayLike, x2: npt.ArrayLike, x3: npt.ArrayLike, /, **kwargs: Any
    ) -> Any: ...

class _Quaternary(np.ufunc):  # type: ignore[misc]
    @overload
    def __call__(self, x1: float, x2: float, x3: float, x4: float, /) -> np.float64: ...
    @overload
    def __call__(
        self,
        x1: npt.ArrayLike,
        x2: npt.ArrayLike,
        x3: npt.ArrayLike,
        x4: npt.ArrayLike,
        /,
        **kwargs: Any,
    ) -> Any: ...

class _ComplexTernary(np.ufunc):  # type: ignore[misc]
    @overload
    def __call__(self, q: float, sigma: float, alpha: float, /) -> np.float64: ...
    @overload
    def __call__(self, q: float, sigma: float, alpha: complex, /) -> np.complex128: ...
    @overload
    def __call__(
        self, q: npt.ArrayLike, sigma: npt.ArrayLike, alpha: npt.ArrayLike, /, **kwargs: Any
    ) -> Any: ...

dp_sgd_delta_lower: Final[_Quaternary]
dp_sgd_delta_upper: Final[_Quaternary]
dp_sgd_epsilon_lower: Final[_Quaternary]
dp_sgd_epsilon_upper: Final[_Quaternary]
gaussian_delta: Final[_Binary]
gaussian_delta_lower: Final[_Binary]
gaussian_delta_upper: Final[_Binary]
gaussian_epsilon: Final[_Binary]
gaussian_epsilon_lower: Final[_Binary]
gaussian_epsilon_upper: Final[_Binary]
gaussian_mu: Final[_Binary]
gaussian_mu_lower: Final[_Binary]
gaussian_mu_upper: Final[_Binary]
gaussian_tradeoff: Final[_Binary]
gaussian_tradeoff_lower: Final[_Binary]
gaussian_tradeoff_upper: Final[_Binary]
log_a: Final[_ComplexTernary]
log_a_binomial: Final[_Ternary]
log_a_binomial_lower: Final[_Ternary]
log_a_binomial_upper: Final[_Ternary]
log_a_derivative: Final[_Ternary]
log_a_lower: Final[_Ternary]
log_a_quadrature: Final[_Ternary]
log_a_quadrature_lower: Final[_Ternary]
log_a_quadrature_upper: Final[_Ternary]
log_a_second_derivative: Final[_Ternary]
log_b: Final[_Ternary]
log_b_lower: Final[_Ternary]
log_b_upper: Final[_Ternary]
log_a_series: Final[_Ternary]
log_a_series_lower: Final[_Ternary]
log_a_series_upper: Final[_Ternary]
log_a_upper: Final[_Ternary]
rdp_gaussian: Final[_Binary]
rdp_gaussian_lower: Final[_Binary]
rdp_gaussian_upper: Final[_Binary]
rdp_sampled_gaussian: Final[_Ternary]
rdp_sampled_gaussian_bound: Final[_Ternary]
log_a_nearest: Final[_Ternary]
rdp_sampled_gaussian_nearest: Final[_Ternary]
rdp_sampled_gaussian_lower: Final[_Ternary]
rdp_sampled_gaussian_upper: Final[_Ternary]
sampled_gaussian_delta_add: Final[_Ternary]
sampled_gaussian_delta_add_lower: Final[_Ternary]
sampled_gaussian_delta_add_upper: Final[_Ternary]
sampled_gaussian_delta_remove: Final[_Ternary]
sampled_gaussian_delta_remove_lower: Final[_Ternary]
sampled_gaussian_delta_remove_upper: Final[_Ternary]
sampled_gaussian_epsilon_add: Final[_Ternary]
sampled_gaussian_epsilon_add_lower: Final[_Ternary]
sampled_gaussian_epsilon_add_upper: Final[_Ternary]
sampled_gaussian_epsilon_remove: Final[_Ternary]
sampled_gaussian_epsilon_remove_lower: Final[_Ternary]
sampled_gaussian_epsilon_remove_upper: Final[_Ternary]
