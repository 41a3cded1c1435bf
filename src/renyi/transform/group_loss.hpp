// The likelihood ratio of a group of m records, each in a Poisson sample by its own coin, against none of them:
//     e^{L(x)} = sum_k w_k e^{k c x - k^2 c^2/2},   w = Bin(m, q),   c = 1/sigma,   x standard normal without them
// (Charles and others 2024, arXiv 2407.07737).
//
// As a polynomial in z = e^{c x} it has only negative zeros: (1 - q + q z)^m has only negative zeros, and the factors
// e^{-k^2 c^2/2} keep this property (Laguerre's theorem: Polya, Schur 1914). Hence e^L = (1-q)^m prod_j (1 + r_j z),
// r_j > 0, a product of m factors like the factor of one record. What holds for one record beside the real axis holds
// for the group: on the line Im x = a, with theta = c a <= pi/2, |e^L|, Re L and arg e^L rise with Re x,
// 0 <= arg e^L <= m theta, and d arg/d Re L <= tan theta.
//
// No factor need be known. With the posterior pi_k of the number in the sample at Re x,
//     e^{L(x + i a)}/e^{L(x)} = sum_k pi_k e^{i k theta},
// and the argument of a factor is within theta^3/50 of theta times its posterior, so that theta E[k] tells the branch.
// Where m theta^2 <= 28 neither is more than 3 off, nor is the modulus below e^-4.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace renyi {

class GroupLoss {
public:
    GroupLoss(double q, double c, int records);

    int records() const noexcept { return records_; }
    double largest_angle() const noexcept { return std::sqrt(28.0 / records_); }
    // log w_k; k = 0 ... m.
    std::span<const double> log_weights() const noexcept { return log_weight_; }

    // Computes L and its error in u. All spans have one length, a multiple of kLanes.
    void evaluate(std::span<const double> x, double* loss, double* error) const;

    // L less the least one, and the posterior mean of the number in the sample, roughly.
    struct Rise {
        double size, number;
    };
    Rise rise(double x) const noexcept;

    // For outputs with the group: the x beyond which their density is below about e^-depth, and the logarithm of a
    // bound of their mass beyond x, by Q(d) <= e^{-d^2/2}/2 for d > 0.
    double reach(double depth) const noexcept;
    double log_tail(double x) const noexcept;

private:
    friend class GroupTurns;

    int last_term(double x) const noexcept;

    int records_, usual_;  // the number up to which terms count at any x
    double c_;
    std::vector<double> weight_, log_weight_;
};

// How e^L changes from points of the real axis to lines beside it.
class GroupTurns {
public:
    GroupTurns() = default;
    // The number of points is a multiple of kLanes.
    GroupTurns(const GroupLoss& law, std::span<const double> x);

    // Computes the logarithm of the modulus and the argument of e^{L(x + i a)}/e^{L(x)}, theta = c a up to the largest
    // angle, to 1e-11.
    void turn(double theta, double* log_modulus, double* argument) const;

    // Posterior mean of the number in the sample.
    double number(std::size_t point) const noexcept { return number_[point]; }

private:
    struct Block {
        std::size_t start;
        int first, count;  // numbers whose posterior is not negligible; 0 is not stored
    };

    std::vector<Block> blocks_;
    std::vector<double> posterior_, number_;
    int most_ = 0;
};

}  // namespace renyi
