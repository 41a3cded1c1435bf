// Which tilt to compose at, and which outcomes to leave out; nothing here needs to be certified.
#pragma once

#include <optional>

#include "renyi/transform/lattice/node_law.hpp"

namespace renyi::lattice {

// How to compose for delta(epsilon).
struct TiltChoice {
    double slope = 1.0;
    double log_delta = 0.0;        // about
    double log_tail = -kInfinity;  // log mass to cut off above
    double limit = -kInfinity;     // losses up to it are bulk
    double bulk_slope = 1.0;       // where Chernoff's bound on outcomes all in the bulk is least
};

// t > 0 where K(t) - epsilon t - log t - log(1 + t) is least, within 1 %; from a tilt near it, if one is known.
double saddle(const NodeLaws& laws, double epsilon, std::optional<double> near = {});

// The saddle-point approximation of log delta, at its saddle t.
double log_delta_at(const NodeLaws& laws, double t, double epsilon);

// What makes delta(epsilon) stand out. With few effective steps delta comes from one large loss, and no tilt makes that
// likely: then outcomes in which every loss is small are left out and bounded apart.
TiltChoice choose_tilt(const NodeLaws& laws, double epsilon, double rtol);

}  // namespace renyi::lattice
