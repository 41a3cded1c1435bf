"""Budgets for adaptive composition: filters that refuse to exceed a budget, and an odometer.

Accountants add up mechanisms whose parameters were fixed beforehand. If the next mechanism, or
whether there is one, depends on earlier releases, the sum is random and needs a filter or an
odometer. Both use Rényi divergences of orders fixed at the start, for then

    M_t = exp((alpha-1) (L_t - rho_t)),    L_t the privacy loss, rho_t the sum of the divergences,

is a supermartingale however the mechanisms are chosen (Feldman, Zrnic 2021, arXiv 2008.11193).
"""

from renyi.filters._filter import BudgetExceededError
from renyi.filters._filter import Reservation as Reservation
from renyi.filters._individual import IndividualFilter
from renyi.filters._odometer import PrivacyOdometer
from renyi.filters._privacy import PrivacyFilter
from renyi.filters._single_number import GDPFilter, RenyiFilter, ZCDPFilter

__all__ = [
    "BudgetExceededError",
    "GDPFilter",
    "IndividualFilter",
    "PrivacyFilter",
    "PrivacyOdometer",
    "RenyiFilter",
    "ZCDPFilter",
]
__dir__ = __all__.copy
