// Noises as pairs: P is the law of the output with the record, Q that without it.
#pragma once

#include <cstdint>
#include <vector>

#include "renyi/pair/pair.hpp"

namespace renyi {

// Continuous noise of even density on a query of sensitivity 1; each pair is its own reverse.

// Density proportional to e^{-|x|/scale}.
PairPointer laplace_noise(double scale);

// Density proportional to e^{-(|x|/scale)^shape}; shape in [1.01, 10], losses up to some thousands. At shape 2 it is
// Gaussian.
PairPointer generalised_gaussian_noise(double shape, double scale);

// Density proportional to (1 + (x/scale)^2/n)^{-(n+1)/2}, Student's t with n degrees of freedom; n in [1.5, 1e4]. The
// loss is bounded and not monotone.
PairPointer student_noise(double degrees, double scale);

// Staircase noise (Geng, Viswanath 2014, arXiv 1212.1186): its density falls by e^-epsilon at gamma and at 1, and
// repeats with that factor.
PairPointer staircase_noise(double epsilon, double gamma);

// The pair that dominates every mechanism whose loss lies in some interval of length epsilon, of privacy profile
// (e^{eps/2} - e^{e/2})^2/(e^eps - 1) (Dong, Durfee, Rogers 2020, arXiv 1909.13830); logistic noise of scale 1/epsilon
// has this profile, too. Its own reverse.
PairPointer bounded_range(double epsilon);

// Gumbel noise on a query of sensitivity 1: P is around 1, Q around 0. With t = 1/scale, u = e^{-x/scale} is
// exponential of rate 1 under Q and of rate e^t under P, and the loss is L = t - (e^t - 1) u: t - L is exponential, of
// rate r = 1/(e^t - 1) under Q and 1 + r under P. Spans exist for scales in [0.1, 1e9], moments for every scale.
PairPointer gumbel_noise(double scale);

// Noise on the integers: P is centred at `shift` >= 1, Q at 0; each pair is its own reverse. Where outcomes are very
// many, blocks of neighbours are merged into spans with a width.

// Mass proportional to e^{-x^2/(2 sigma^2)} (Canonne, Kamath, Steinke 2020, arXiv 2004.00010). The loss at x is
// shift (2x - shift)/(2 sigma^2). Outcomes beyond 38.7 sigma of both centres have a mass below 2^-1040 under P and Q.
// The Rényi divergences are at most those of continuous noise (Proposition 5 there).
PairPointer discrete_gaussian(double sigma, std::int64_t shift);

// The sum of e^{-x^2/(2 sigma^2)} over the integers, with an error of 64u. By Poisson summation it is sigma sqrt(2 pi)
// (1 + 2 e^{-2 pi^2 sigma^2} + ...), to 2^-113 where sigma >= 1; else the sum has 39 terms on each side.
double discrete_gaussian_total(double sigma) noexcept;

// Mass proportional to e^{-|x|/scale}, the geometric mechanism. Spans exist for shift/scale <= 700, moments for every
// scale.
PairPointer discrete_laplace(double scale, std::int64_t shift);

// Skellam's distribution, the difference of two Poisson variables of mean variance/2 each.
PairPointer skellam_noise(double variance, int shift);

// Gaussian noise, and mixtures of it; weights are positive and add up to 1.

PairPointer gaussian_noise(double mu);  // (N(mu, 1), N(0, 1)), 0 < mu; its own reverse
// (sum_j w_j N(m_j, sigma^2), N(0, sigma^2)).
PairPointer gaussian_mixture(const std::vector<double>& weights, const std::vector<double>& means, double sigma);
// A record that moves the query by one of these means is replaced by one that moves it as far in the other direction:
// (sum_j w_j N(-m_j, sigma^2), sum_j w_j N(m_j, sigma^2)).
PairPointer replaced_gaussian(const std::vector<double>& weights, const std::vector<double>& means, double sigma);

// Noise of log-concave density on a query that is moved by the number of records drawn, each by its own coin. P has the
// binomial weights of m records at 0, 1, ..., m; Q has those of `others`, the records that replace them, at 0, -1, ...
// (`others` = 0: no record replaces them).
//
// The pair dominates every group of that size. Let R be the noise where no record was drawn, A any event of R-mass a,
// and g_k the largest power of tests between noise moved by k and R. Given that k records were drawn, A has at most
// mass g_k(a) under P, and, given k others, at least 1 - g_k(1-a) under Q. The events {x > c} reach all these bounds at
// once, as likelihood ratios of moved log-concave noise rise in x: no event has more P-mass and less Q-mass than these.
PairPointer gaussian_group(double rate, double sigma, int records, int others);
PairPointer laplace_group(double rate, double scale, int records, int others);  // (records + others)/scale <= 500

// The same on the integers, where one record moves the query by `shift`; (records + others) shift/scale <= 500.
PairPointer discrete_laplace_group(double rate, double scale, std::int64_t shift, int records, int others);
PairPointer discrete_gaussian_group(double rate, double scale, std::int64_t shift, int records, int others);

}  // namespace renyi
