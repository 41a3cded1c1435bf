// The Rényi curve of a mechanism: K(alpha) = (alpha-1) D_alpha, the log moment generating function of its privacy loss,
// or an upper bound of it, mostly convex. Whatever is known of a mechanism (a closed form, a pair of distributions, a
// table) and whatever is done to it (sampling, composition, selection) is one of these.
#pragma once

#include <memory>

#include "renyi/fp/certified.hpp"

namespace renyi {

// K and its derivatives in alpha; where K is a polygon, those of the segment on the right.
struct LogMoment {
    Certified value;
    double first, second;
};

class RenyiCurve {
public:
    virtual ~RenyiCurve() = default;

    // 1 <= alpha <= min(largest_order(), 1e6). Non-negative, 0 at alpha = 1.
    virtual LogMoment log_moment(double alpha) const noexcept = 0;

    // D_alpha on the same orders; at alpha = 1 the Kullback-Leibler divergence, K'(1).
    virtual Certified divergence(double alpha) const noexcept;

    // K is infinite above; at least 1.
    virtual double largest_order() const noexcept { return kInfinity; }

    // Whether K is convex, up to where it becomes (alpha-1) times the largest loss.
    virtual bool convex() const noexcept { return true; }

    // D_infinity in both orders of the pair: no loss is larger; rounded up.
    virtual double largest_loss() const noexcept { return kInfinity; }

protected:
    RenyiCurve() = default;
    RenyiCurve(const RenyiCurve&) = default;
    RenyiCurve& operator=(const RenyiCurve&) = default;
};

using CurvePointer = std::shared_ptr<const RenyiCurve>;

}  // namespace renyi
