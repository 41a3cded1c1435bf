// The scaled complementary error function e^{x^2} erfc(x), x >= 0, relative error 12u.
//
//     erfc(x) = (2x/pi) e^{-x^2} integral_0^inf e^{-t^2}/(t^2 + x^2) dt
// by the midpoint rule with step h = 1/2, and the residue of the pole t = ix added while it lies inside the strip of
// convergence:
//     erfcx(x) = (2 x h/pi) sum_{n>=1} e^{-t_n^2}/(t_n^2 + x^2) + 2 e^{x^2}/(1 + e^{2 pi x/h}),   t_n = (n - 1/2) h.
// All terms are positive (the rule through t = 0 would subtract). Discretisation e^{-pi^2/h^2} = e^-39 (Goodwin 1949;
// Chiarella, Reichel 1968); t_13 = 6.25, and what follows is below e^-45.
#pragma once

#include "renyi/special/elementary.hpp"

namespace renyi {

inline double erfcx(double x) noexcept {
    constexpr double kPi = 0x1.921fb54442d18p1;
    constexpr double kStep = 0.5;
    constexpr double kWeight[14] = {
        // e^{-t_n^2}
        0.9394130628134757861197,     0.5697828247309230097666,    0.2096113871510978225241,
        0.04677062238395898365276,    0.006329715427485746576865,  0.0005195746821548384817648,
        0.00002586810022265412127036, 7.811489408304490795473e-7,  1.430724191856768833468e-8,
        1.589391009451636652873e-10,  1.070923238250807645586e-12, 4.376618502870849893821e-15,
        1.084855264042937802512e-17,  1.631013922670185678642e-20};
    double sum = 0.0;
    for (int n = 13; n >= 0; --n) {
        const double t = (n + 0.5) * kStep;
        sum += kWeight[n] / (t * t + x * x);
    }
    double value = (2.0 * kStep / kPi) * x * sum;
    if (x < kPi / kStep)
        value += 2.0 * lane_exp(x * (x - 2.0 * kPi / kStep)) / (1.0 + lane_exp(-2.0 * kPi * x / kStep));
    return value;
}

}  // namespace renyi
