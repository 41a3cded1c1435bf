// The principal Lambert W function, W e^W = y > 0, from log y, as a branch-free function that vectorises.
//
// Two steps of Fritsch, Shafer, Crowley 1973 on z = log y - log w - w, each of fourth order. The starts are right to
// 27 %: y/(1 + y) for y <= e, and log y - log log y + log log y/log y beyond. Relative error
// 8u (1 + |log y|)/(1 + W): W(y) is y^(1/(1+W)) to first order, and z carries the rounding of log y.
#pragma once

#include "renyi/special/elementary.hpp"

namespace renyi {

// W of e^log_y, for |log_y| <= 1e15; y is used where log_y <= 1 only.
RENYI_INLINE double lane_lambert_w(double log_y, double y) noexcept {
    const double above = log_y > 1.0 ? log_y : 1.0;
    const double log_above = lane_log(above);
    const double small = y / (1.0 + y);
    double w = select(log_y > 1.0, (above - log_above) + log_above / above, small);
    for (int step = 0; step < 2; ++step) {
        const double z = (log_y - lane_log(w)) - w;
        const double q = 2.0 * (1.0 + w) * (1.0 + w + (2.0 / 3.0) * z);
        w += w * (z / (1.0 + w)) * ((q - z) / (q - 2.0 * z));
    }
    return w;
}

}  // namespace renyi
