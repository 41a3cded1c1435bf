// Gaussian noise, and two mixtures of normal distributions of variance 1 that differ by moves: Q has the weight of a
// move where it starts, P where it ends. Its loss is monotone, or falls and then rises.
#pragma once

#include <utility>
#include <vector>

#include "renyi/pair/division.hpp"
#include "renyi/pair/noise/normal_moment.hpp"

namespace renyi {

struct NormalMove {
    double weight, from, to;
};

class NormalMixtures : public Pair {
public:
    // (sum_j w_j N(m_j, sigma^2), N(0, sigma^2)); positive weights of sum 1.
    static NormalMixtures mixture(const std::vector<double>& weights, const std::vector<double>& means, double sigma);
    // Replacing what moves by one of these means in one direction by what moves as far in the other:
    // (sum_j w_j N(-m_j, sigma^2), sum_j w_j N(m_j, sigma^2)).
    static NormalMixtures replaced(const std::vector<double>& weights, const std::vector<double>& means, double sigma);
    // Records that are sampled by their own coins, sigma in the unit of what one moves: those of the step against so
    // many others, which move in the other direction.
    static NormalMixtures group(const SampledStep& step, int others);

    Spans spans(Side side, const Fineness& fineness) const override;
    CurvePointer moment(Direction direction) const override;
    bool symmetric() const noexcept override { return symmetric_; }
    PairPointer reverse() const override;
    PairPointer sampled(double rate) const override;

    double loss(double x) const noexcept;
    OutputPoint at(double x, bool positive) const noexcept;

protected:
    NormalMixtures(std::vector<NormalMove> moves, bool symmetric);

    // P and Q.
    std::pair<NormalMixture, NormalMixture> mixtures() const;

private:
    struct Sums;
    struct EasyRatio {
        double excess, largest;  // of the gains
    };

    double centre(const NormalMove& move, bool of_p) const noexcept { return of_p ? move.to : move.from; }
    Sums sums(double x) const noexcept;
    EasyRatio easy_ratio(double x) const noexcept;
    double slope(double x) const noexcept;
    double depth(double x, bool of_p) const noexcept;
    double log_mass(double start, double end, bool of_p) const noexcept;
    double loss_error(const Part& part, bool narrow) const noexcept;
    Span wide_span(const Part& part) const noexcept;
    void add(const Part& part, Spans& found) const;

    std::vector<NormalMove> moves_;
    bool one_start_;
    std::vector<double> log_weights_, ends_;  // between ends the loss is monotone
    double lowest_, highest_, farthest_;      // centres, and the longest move
    bool symmetric_;
};

// (N(mu, 1), N(0, 1)), with the middle as origin: P around mu/2, Q around -mu/2, the loss mu v at v. Its own reverse.
class GaussianPair final : public NormalMixtures {
public:
    explicit GaussianPair(double mu) : NormalMixtures({{1.0, -0.5 * mu, 0.5 * mu}}, true), mu_(mu) {}  // 0 < mu

    CurvePointer moment(Direction direction) const override;
    double gaussian_shift() const noexcept override { return mu_; }

private:
    double mu_;
};

}  // namespace renyi
