// A pair of distributions (P, Q) seen through its privacy loss L = log dP/dQ: finitely many spans of losses.
//
// A span has masses p under P and q under Q, ends low <= L <= high, and between them mean = log(p/q), the loss that its
// outcomes have when they are merged into one. With H(E) = E_P[(1 - E e^-L)_+], delta(epsilon) = H(e^epsilon),
//
//     from below   everything at the mean: merging is post-processing
//     from above   the share r = (1 - e^{low-mean})/(1 - e^{low-high}) of p at high, the rest at low. Both masses are
//                  kept, so that e^-L is spread as far as it can be, and (1 - E e^-L)_+ is convex in e^-L
//
// so that spans bracket H, and by conditioning every composition, with a gap of second order in their width. An atom is
// a span without width. What is done to pairs is done to spans, exactly: the reverse (Q, P) exchanges the masses and
// the signs, and a Poisson sample ((1-s) Q + s P, Q) moves all three losses by l -> log(1 + s (e^l - 1)).
#pragma once

#include <vector>

#include "renyi/fp/bracket.hpp"

namespace renyi {

struct Span {
    double low, mean, high;  // losses, each wrong by loss_error at most
    double p, q;             // masses; p = q e^mean
    double mass_error;       // relative, of both masses together: p/q is as good as the mean
    double loss_error;
};

struct Spans {
    std::vector<Span> spans;
    Bracket infinite{0.0, 0.0};  // P-mass where Q vanishes
    Bracket null{0.0, 0.0};      // Q-mass where P vanishes
    // Whether there may be losses beyond the spans, seen by neither P nor Q to speak of.
    bool unbounded_above = true, unbounded_below = true;
};

// Where a span of losses is to be divided.
class Fineness {
public:
    virtual ~Fineness() = default;
    // A loss inside (low, high), nearly met where the loss can be inverted; kFine or kAnywhere.
    virtual double cut(double low, double high) const noexcept = 0;
    // Whether atoms between which nothing is to be divided may come as one span.
    virtual bool joins_atoms() const noexcept { return true; }
};

constexpr double kFine = kInfinity, kAnywhere = -kInfinity;

// Everything is fine: the fewest spans, whose masses are as good as those of the finest.
class Coarse final : public Fineness {
public:
    double cut(double, double) const noexcept override { return kFine; }
    bool joins_atoms() const noexcept override { return false; }
};

}  // namespace renyi
