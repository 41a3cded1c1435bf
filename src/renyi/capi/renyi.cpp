// The C interface: this file checks arguments and catches exceptions; the engine does the rest.
#include "renyi/capi/renyi.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "renyi/curve/privacy_curve.hpp"
#include "renyi/fp/environment.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/pair/composition.hpp"
#include "renyi/sgd/clipping.hpp"
#include "renyi/sgd/generator.hpp"
#include "renyi/sgd/rounded_noise.hpp"

struct renyi_generator {
    renyi_generator() noexcept = default;
    explicit renyi_generator(const renyi::ChaChaKey& key) noexcept : generator(key) {}

    renyi::NoiseGenerator generator;
};

namespace renyi {
namespace {

constexpr double kLeastRate = 1e-100, kLeastSigma = 1e-4, kMostSteps = 1e9;
constexpr std::size_t kMostColumns = std::size_t{1} << 36;

bool is_valid(const SampledStep& step) noexcept {
    const bool rate = step.q == 0.0 || (step.q >= kLeastRate && step.q <= 1.0);
    return rate && step.sigma >= kLeastSigma && step.count >= 0.0 && step.count <= kMostSteps &&
           step.count == std::floor(step.count);
}

// Returns the composition of the steps; empty if a step is invalid or there are more than kMostSteps of one kind.
std::optional<Composition> composition_of(std::span<const SampledStep> steps) {
    if (!std::ranges::all_of(steps, is_valid)) return std::nullopt;
    Composer composer;
    for (const SampledStep& step : steps)
        if (step.q > 0.0 && step.sigma < kInfinity) composer.add(step);
    Composition found = composer.composition();
    if (std::ranges::any_of(found.steps, [](const SampledStep& s) { return s.count > kMostSteps; }))
        return std::nullopt;
    return found;
}

enum class Question { epsilon, delta };

// The larger of two numbers; NaN if either is NaN.
double larger(double a, double b) noexcept { return a >= b || std::isnan(a) ? a : b; }

// Answers a question for the worse of both directions; answers are at least 0.
int ask(Question question, std::span<const SampledStep> given, std::span<const double> values, Bracket* answers) {
    const double most = question == Question::epsilon ? 1.0 : kInfinity;
    for (const double value : values)
        if (!(value >= 0.0 && value <= most)) return RENYI_INVALID_ARGUMENT;
    const std::optional<Composition> composition = composition_of(given);
    if (!composition) return RENYI_INVALID_ARGUMENT;

    std::vector<Bracket> found(values.size());
    std::vector<double> known(values.size(), 0.0);
    std::fill_n(answers, values.size(), Bracket{0.0, 0.0});
    for (const SampledPair pair : {SampledPair::remove, SampledPair::add}) {
        PrivacyCurve curve(composition->steps, pair);
        question == Question::epsilon ? curve.epsilon(values, known, found.data())
                                      : curve.delta(values, known, found.data());
        for (std::size_t i = 0; i < found.size(); ++i) {
            answers[i] = {larger(answers[i].lower, found[i].lower), larger(answers[i].upper, found[i].upper)};
            known[i] = answers[i].lower;
        }
    }
    return RENYI_OK;
}

ChaChaKey key_of(const std::uint8_t* bytes) noexcept {
    ChaChaKey key;
    std::memcpy(key.data(), bytes, sizeof key);
    return key;
}

template <class Body>
int guarded(const Body& body) noexcept {
    try {
        return body();
    } catch (...) {  // std::bad_alloc or an exception caused by it: the engine throws nothing else
        return RENYI_OUT_OF_MEMORY;
    }
}

int ask(Question question, const renyi_step* steps, std::size_t kinds, const double* values, std::size_t questions,
        renyi_bracket* answers) noexcept {
    if ((kinds != 0 && steps == nullptr) || (questions != 0 && (values == nullptr || answers == nullptr)))
        return RENYI_INVALID_ARGUMENT;
    return guarded([&] {
        std::vector<SampledStep> given;
        for (std::size_t i = 0; i < kinds; ++i) given.push_back({steps[i].q, steps[i].sigma, steps[i].count});
        std::vector<Bracket> found(questions);
        const int status = ask(question, given, {values, questions}, found.data());
        if (status != RENYI_OK) return status;
        for (std::size_t i = 0; i < questions; ++i) answers[i] = {found[i].lower, found[i].upper};
        return status;
    });
}

renyi_bracket ask(Question question, const renyi_step& step, double value) noexcept {
    renyi_bracket answer{kNaN, kNaN};
    ask(question, &step, 1, &value, 1, &answer);
    return answer;
}

template <class Real>
int clip(const Real* data, std::size_t rows, std::size_t columns, double bound, Real* sum, double* norms,
         double* factors, std::size_t threads) noexcept {
    const bool pointers =
        (rows == 0 || data != nullptr) && sum != nullptr && (norms == nullptr) == (factors == nullptr);
    const bool sizes = rows <= kMostRows && columns >= 1 && columns <= kMostColumns && threads >= 1;
    if (!pointers || !sizes || !(bound >= kLeastBound && bound <= kLargestBound)) return RENYI_INVALID_ARGUMENT;
    return guarded([&] {
        constexpr bool is_double = sizeof(Real) == sizeof(double);
        ClipTask task;
        task.rows = rows;
        task.arrays.emplace_back(data, is_double ? Element::twice : Element::single,
                                 static_cast<std::ptrdiff_t>(columns * sizeof(Real)), std::vector<std::size_t>{columns},
                                 std::vector<std::ptrdiff_t>{sizeof(Real)}, true);
        task.sums.push_back(sum);
        task.wide_sum = is_double;
        task.groups.push_back(0);
        task.bounds.push_back(bound);
        task.norms = norms;
        task.factors = factors;
        task.threads = threads;
        clip_and_sum(task);
        return static_cast<int>(RENYI_OK);
    });
}

template <class Real>
int add(renyi_generator* generator, int law, double scale, Real* numbers, std::size_t count, int threads) noexcept {
    const bool pointers = generator != nullptr && (count == 0 || numbers != nullptr);
    const bool known = (law == RENYI_GAUSSIAN || law == RENYI_LAPLACE) && threads >= 1;
    const bool in_range = scale == 0.0 || (scale >= kLeastNoise<Real> && scale <= kLargestNoise<Real>);
    if (!pointers || !known || !in_range) return RENYI_INVALID_ARGUMENT;
    return guarded([&] {
        const ChaChaStream stream = generator->generator.derive();
        if (count != 0 && scale != 0.0)
            add_noise(law == RENYI_GAUSSIAN ? NoiseLaw::gaussian : NoiseLaw::laplace, stream, 0, NoiseLattice(scale),
                      numbers, count, threads);
        wipe_stack<kDrawStack>();
        return static_cast<int>(RENYI_OK);
    });
}

}  // namespace
}  // namespace renyi

using renyi::Question;

const char* renyi_version() noexcept { return RENYI_VERSION; }
int renyi_abi_version() noexcept { return RENYI_ABI_VERSION; }
int renyi_floating_point_is_sound() noexcept { return renyi::probe_floating_point().sound() ? 1 : 0; }

const char* renyi_status_text(int status) noexcept {
    switch (status) {
        case RENYI_OK:
            return "done";
        case RENYI_INVALID_ARGUMENT:
            return "an argument is a null pointer or outside its range";
        case RENYI_OUT_OF_MEMORY:
            return "out of memory";
        default:
            return "not a status of this library";
    }
}

double renyi_log_a(double q, double sigma, double alpha) noexcept { return renyi::log_a(q, sigma, alpha).value; }
double renyi_log_a_lower(double q, double sigma, double alpha) noexcept {
    return renyi::lower(renyi::log_a(q, sigma, alpha));
}
double renyi_log_a_upper(double q, double sigma, double alpha) noexcept {
    return renyi::upper(renyi::log_a(q, sigma, alpha));
}
double renyi_rdp(double q, double sigma, double alpha) noexcept {
    return renyi::rdp_sampled_gaussian(q, sigma, alpha).value;
}
double renyi_rdp_lower(double q, double sigma, double alpha) noexcept {
    return renyi::lower(renyi::rdp_sampled_gaussian(q, sigma, alpha));
}
double renyi_rdp_upper(double q, double sigma, double alpha) noexcept {
    return renyi::upper(renyi::rdp_sampled_gaussian(q, sigma, alpha));
}

double renyi_epsilon_lower(double q, double sigma, double count, double delta) noexcept {
    return renyi::ask(Question::epsilon, {q, sigma, count}, delta).lower;
}
double renyi_epsilon_upper(double q, double sigma, double count, double delta) noexcept {
    return renyi::ask(Question::epsilon, {q, sigma, count}, delta).upper;
}
double renyi_delta_lower(double q, double sigma, double count, double epsilon) noexcept {
    return renyi::ask(Question::delta, {q, sigma, count}, epsilon).lower;
}
double renyi_delta_upper(double q, double sigma, double count, double epsilon) noexcept {
    return renyi::ask(Question::delta, {q, sigma, count}, epsilon).upper;
}

int renyi_epsilon(const renyi_step* steps, size_t kinds, const double* deltas, size_t questions,
                  renyi_bracket* answers) noexcept {
    return renyi::ask(Question::epsilon, steps, kinds, deltas, questions, answers);
}
int renyi_delta(const renyi_step* steps, size_t kinds, const double* epsilons, size_t questions,
                renyi_bracket* answers) noexcept {
    return renyi::ask(Question::delta, steps, kinds, epsilons, questions, answers);
}

int renyi_clip_and_sum_f32(const float* data, size_t rows, size_t columns, double bound, float* sum, double* norms,
                           double* factors, size_t threads) noexcept {
    return renyi::clip(data, rows, columns, bound, sum, norms, factors, threads);
}
int renyi_clip_and_sum_f64(const double* data, size_t rows, size_t columns, double bound, double* sum, double* norms,
                           double* factors, size_t threads) noexcept {
    return renyi::clip(data, rows, columns, bound, sum, norms, factors, threads);
}

int renyi_generator_new(const uint8_t* key, renyi_generator** generator) noexcept {
    if (generator == nullptr) return RENYI_INVALID_ARGUMENT;
    renyi_generator* made = nullptr;
    if (key == nullptr) {
        made = new (std::nothrow) renyi_generator;
    } else {
        made = new (std::nothrow) renyi_generator(renyi::key_of(key));
    }
    if (made == nullptr) return RENYI_OUT_OF_MEMORY;
    *generator = made;
    return RENYI_OK;
}
void renyi_generator_free(renyi_generator* generator) noexcept { delete generator; }

int renyi_add_noise_f32(renyi_generator* generator, int law, double scale, float* numbers, size_t count,
                        int threads) noexcept {
    return renyi::add(generator, law, scale, numbers, count, threads);
}
int renyi_add_noise_f64(renyi_generator* generator, int law, double scale, double* numbers, size_t count,
                        int threads) noexcept {
    return renyi::add(generator, law, scale, numbers, count, threads);
}
