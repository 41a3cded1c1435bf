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

#include <cstddef>
#include <vector>

namespace renyi {

// Which bound the masses are rounded for: scaling p and q together up raises H, down lowers it.
enum class Side { lower, upper };

struct Spans {
    std::vector<double> low, mean, high;  // of the loss
    std::vector<double> p, q;             // masses, p = q e^mean, rounded to the side
    double infinite = 0.0;                // P-mass where Q vanishes, rounded to the side
    double null = 0.0;                    // Q-mass where P vanishes, rounded up; the lower side never reads it as mass
    double drift = 0.0;                   // no loss is wrong by more, absolutely

    std::size_t size() const noexcept { return p.size(); }
    void add(double lowest, double middle, double highest, double p_mass, double q_mass);
    void append(const Spans& other);
};

// Whether a span of losses is narrow enough to stay undivided.
class Fineness {
public:
    virtual ~Fineness() = default;
    virtual bool is_fine(double low, double high) const noexcept = 0;
};

}  // namespace renyi
