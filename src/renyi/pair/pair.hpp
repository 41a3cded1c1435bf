// A mechanism is a pair of distributions (P, Q) that dominates its outputs on neighbouring data. A pair is read three
// ways: by the moments of its privacy loss L = log dP/dQ (moment), along a contour, and on a lattice, the last two
// through finitely many spans of losses, as fine as the reader asks for.
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

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/loss/direction.hpp"
#include "renyi/pair/renyi_curve.hpp"

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
    // Whether there may be losses beyond the spans, of negligible mass under both P and Q.
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

// Divides where a function of (low, high) says.
template <class Cut>
class CutBy final : public Fineness {
public:
    explicit CutBy(Cut cut, bool joins_atoms = true) : cut_(std::move(cut)), joins_atoms_(joins_atoms) {}
    double cut(double low, double high) const noexcept override { return cut_(low, high); }
    bool joins_atoms() const noexcept override { return joins_atoms_; }

private:
    Cut cut_;
    bool joins_atoms_;
};

// Everything is fine: the fewest spans, whose masses are as good as those of the finest.
class Coarse final : public Fineness {
public:
    double cut(double, double) const noexcept override { return kFine; }
    bool joins_atoms() const noexcept override { return false; }
};

// What may underflow in densities and masses and is neglected.
constexpr double kNegligible = 0x1p-1040;

// Where a pair is known only by one that dominates it and one that it dominates, they are its sides.
enum class Side { lower, upper };

// Rounds the masses of spans where neither is above `size` to the end of their error that is safe for the side.
inline void round_small_masses_outward(Spans& spans, Side side, double size) noexcept {
    for (Span& span : spans.spans) {
        if (span.p > size || span.q > size) continue;
        const double error = span.mass_error * (1.0 + 4.0 * kUnitRoundoff) + 2.0 * kUnitRoundoff;
        const double extreme = side == Side::upper ? 1.0 + error : std::max(1.0 - error, 0.0);
        span.p *= extreme;
        span.q *= extreme;
        span.mass_error = 0.0;
    }
}

class Pair;
using PairPointer = std::shared_ptr<const Pair>;

struct CountedPair {
    PairPointer pair;
    std::int64_t count;
};

// Pairs are immutable and shared: the operations below are for pairs that a PairPointer holds.
class Pair : public std::enable_shared_from_this<Pair> {
public:
    virtual ~Pair() = default;

    // Spans whose losses are as fine as asked for, in no particular order. What underflows counts as infinite or null.
    virtual Spans spans(Side side, const Fineness& fineness) const = 0;

    // K(alpha) = log E_Q[e^{alpha L}] or an upper bound of it, of (P, Q) for Direction::remove and of (Q, P) for
    // Direction::add; of the upper side. Empty where the losses have no bound and no closed form is known. Unless a
    // class knows better, it is read from the spans.
    virtual CurvePointer moment(Direction direction) const;

    // Whether the sides differ, and one side as a pair by itself.
    virtual bool two_sided() const noexcept { return false; }
    virtual PairPointer side(Side) const { return shared_from_this(); }

    // Whether (P, Q) and (Q, P) are known to have one profile, and (Q, P).
    virtual bool symmetric() const noexcept { return false; }
    virtual PairPointer reverse() const;

    // The record takes part with probability s in [0, 1]: ((1-s) Q + s P, Q).
    virtual PairPointer sampled(double rate) const;

    // mu > 0 of (N(mu, 1), N(0, 1)), products of which are of the same kind; 0 of any other pair.
    virtual double gaussian_shift() const noexcept { return 0.0; }

protected:
    Pair() = default;
    Pair(const Pair&) = default;
    Pair& operator=(const Pair&) = default;
};

// Spans of a pair divided at increasing losses.
Spans spans_at(const Pair& pair, Side side, const std::vector<double>& losses);

}  // namespace renyi
