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
// a span without width. Operations on pairs act on spans exactly: the reverse (Q, P) exchanges the masses and flips
// the signs, and a Poisson sample ((1-s) Q + s P, Q) maps all three losses by l -> log(1 + s (e^l - 1)).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/pair/renyi_curve.hpp"

namespace renyi {

struct Span {
    double low, mean, high;  // losses, each with an error of loss_error at most
    double p, q;             // masses; p = q e^mean
    double mass_error;       // relative error common to both masses: p/q is as accurate as e^mean
    double loss_error;       // absolute
};

struct Spans {
    std::vector<Span> spans;
    Bracket infinite{0.0, 0.0};  // P-mass where Q vanishes
    Bracket null{0.0, 0.0};      // Q-mass where P vanishes
    // Whether there may be losses beyond the spans, of negligible mass under both P and Q.
    bool unbounded_above = true, unbounded_below = true;
};

// Decides where a span of losses is divided.
class Fineness {
public:
    virtual ~Fineness() = default;
    // Returns a loss inside (low, high), which pairs with an invertible loss nearly meet, or kFine (do not divide) or
    // kAnywhere (divide at any place).
    virtual double cut(double low, double high) const noexcept = 0;
    // Whether a pair may return atoms as one span if no cut lies between them.
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

// Never divides: yields the fewest spans, whose masses are as accurate as those of the finest.
class Coarse final : public Fineness {
public:
    double cut(double, double) const noexcept override { return kFine; }
    bool joins_atoms() const noexcept override { return false; }
};

// Bounds the densities and masses that may underflow and are neglected.
constexpr double kNegligible = 0x1p-1040;

// The sides of a pair known only through bounds: a pair that it dominates (lower), one that dominates it (upper).
enum class Side { lower, upper };

// Rounds the masses of spans with both masses at most `size` to the end of their error interval safe for the side.
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

// Pairs are immutable and shared: the operations below require that a PairPointer holds the pair.
class Pair : public std::enable_shared_from_this<Pair> {
public:
    virtual ~Pair() = default;

    // Returns spans as fine as asked for, in no particular order. Masses that underflow count as infinite or null.
    virtual Spans spans(Side side, const Fineness& fineness) const = 0;

    // Returns K(alpha) = log E_Q[e^{alpha L}], or an upper bound of K, of the upper side: of (P, Q) for
    // Direction::remove and of (Q, P) for Direction::add. Empty where the losses have no bound and no closed form is
    // known. This default computes K from the spans.
    virtual CurvePointer moment(Direction direction) const;

    // Whether the sides differ; and one side as a pair of its own.
    virtual bool two_sided() const noexcept { return false; }
    virtual PairPointer side(Side) const { return shared_from_this(); }

    // Whether (P, Q) and (Q, P) are known to have the same privacy profile; and the pair (Q, P).
    virtual bool symmetric() const noexcept { return false; }
    virtual PairPointer reverse() const;

    // Returns the pair in which the record takes part with probability s = `rate` in [0, 1]: ((1-s) Q + s P, Q).
    virtual PairPointer sampled(double rate) const;

    // Returns mu > 0 for the pair (N(mu, 1), N(0, 1)), whose products are Gaussian pairs again; 0 for any other pair.
    virtual double gaussian_shift() const noexcept { return 0.0; }

protected:
    Pair() = default;
    Pair(const Pair&) = default;
    Pair& operator=(const Pair&) = default;
};

// Returns the spans of a pair, divided at the given increasing losses.
Spans spans_at(const Pair& pair, Side side, const std::vector<double>& losses);

}  // namespace renyi
