// The C interface: brackets, arguments that are refused and leave results alone, streams of generators.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "check.hpp"
#include "renyi/capi/renyi.h"

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void numbers() {
    CHECK(renyi_abi_version() == RENYI_ABI_VERSION);
    CHECK(renyi_floating_point_is_sound() == 1);
    CHECK(std::strlen(renyi_version()) >= 5);
    for (int status = -1; status <= 3; ++status) CHECK(std::strlen(renyi_status_text(status)) > 0);

    CHECK_THAT(renyi_log_a_lower(0.01, 1.0, 2.5), <=, renyi_log_a(0.01, 1.0, 2.5));
    CHECK_THAT(renyi_log_a(0.01, 1.0, 2.5), <=, renyi_log_a_upper(0.01, 1.0, 2.5));
    CHECK_THAT(renyi_rdp_upper(1.0, 2.0, 3.0), >=, 0.375);
    CHECK(std::isnan(renyi_log_a(-0.1, 1.0, 2.0)));
    CHECK(std::isnan(renyi_rdp(0.1, 1.0, 0.5)));

    // Gaussian noise of multiplier 1: delta at epsilon 1 is Phi(-1/2) - e Phi(-3/2) = 0.126936737506...
    CHECK_THAT(renyi_delta_lower(1.0, 1.0, 1.0, 1.0), <=, 0.12693673750664397);
    CHECK_THAT(renyi_delta_upper(1.0, 1.0, 1.0, 1.0), >=, 0.12693673750664394);
    CHECK_THAT(renyi_epsilon_upper(0.01, 1.0, 0.0, 1e-5), ==, 0.0);
    CHECK_THAT(renyi_epsilon_upper(0.0, 1.0, 10.0, 0.0), ==, 0.0);
    CHECK_THAT(renyi_epsilon_upper(0.01, 1.0, 10.0, 0.0), ==, kInfinity);
    CHECK_THAT(renyi_epsilon_upper(0.01, 1.0, 10.0, 1.0), ==, 0.0);
    for (const double count : {-1.0, 0.5, 2e9, kInfinity, std::nan("")})
        CHECK(std::isnan(renyi_epsilon_upper(0.01, 1.0, count, 1e-5)));
    for (const double sigma : {0.0, 1e-5, -1.0, std::nan("")})
        CHECK(std::isnan(renyi_delta_lower(0.01, sigma, 1.0, 1.0)));
    for (const double delta : {-1e-9, 1.5, std::nan("")}) CHECK(std::isnan(renyi_epsilon_lower(0.01, 1.0, 1.0, delta)));
}

void compositions() {
    const double deltas[] = {1e-5, 1e-7};
    renyi_bracket together[2], apart[2], untouched[1] = {{-7.0, -7.0}};
    const renyi_step merged[] = {{0.01, 1.0, 1000.0}, {1.0, 8.0, 3.0}};
    const renyi_step split[] = {
        {1.0, 8.0, 1.0}, {0.01, 1.0, 400.0}, {1.0, 8.0, 2.0}, {0.01, 1.0, 600.0}, {0.5, 1.0, 0.0}};
    CHECK(renyi_epsilon(merged, 2, deltas, 2, together) == RENYI_OK);
    CHECK(renyi_epsilon(split, 5, deltas, 2, apart) == RENYI_OK);
    for (int i = 0; i < 2; ++i) {
        CHECK_THAT(together[i].lower, <=, together[i].upper);
        CHECK_THAT(together[i].lower, ==, apart[i].lower);
        CHECK_THAT(together[i].upper, ==, apart[i].upper);
    }
    CHECK(renyi_epsilon(nullptr, 0, deltas, 2, apart) == RENYI_OK);
    CHECK_THAT(apart[1].upper, ==, 0.0);
    CHECK(renyi_delta(merged, 2, nullptr, 0, nullptr) == RENYI_OK);

    const renyi_step many[] = {{0.01, 1.0, 6e8}, {0.01, 1.0, 6e8}};
    const double wrong = 1.5;
    CHECK(renyi_epsilon(many, 2, deltas, 1, untouched) == RENYI_INVALID_ARGUMENT);
    CHECK(renyi_epsilon(merged, 2, &wrong, 1, untouched) == RENYI_INVALID_ARGUMENT);
    CHECK(renyi_epsilon(nullptr, 1, deltas, 1, untouched) == RENYI_INVALID_ARGUMENT);
    CHECK(renyi_delta(merged, 2, deltas, 1, nullptr) == RENYI_INVALID_ARGUMENT);
    CHECK_THAT(untouched[0].lower, ==, -7.0);
}

void sums() {
    const double nan = std::nan("");
    const std::vector<double> rows{3.0, 4.0, 0.3, 0.4, nan, 1.0};
    double sum[2], norms[3], factors[3];
    CHECK(renyi_clip_and_sum_f64(rows.data(), 3, 2, 1.0, sum, norms, factors, 2) == RENYI_OK);
    CHECK_THAT(norms[0], ==, 5.0);
    CHECK_THAT(factors[1], ==, 1.0);
    CHECK_THAT(factors[2], ==, 0.0);
    CHECK(std::isnan(norms[2]));
    CHECK_THAT(std::fabs(sum[0] - 0.9), <, 1e-7);
    CHECK(renyi_clip_and_sum_f64(nullptr, 0, 2, 1.0, sum, nullptr, nullptr, 1) == RENYI_OK);
    CHECK_THAT(sum[1], ==, 0.0);
    CHECK(renyi_clip_and_sum_f64(rows.data(), 3, 2, 0.0, sum, norms, factors, 1) == RENYI_INVALID_ARGUMENT);
    CHECK(renyi_clip_and_sum_f64(rows.data(), 3, 2, 1.0, sum, norms, nullptr, 1) == RENYI_INVALID_ARGUMENT);
    CHECK(renyi_clip_and_sum_f64(rows.data(), 3, 0, 1.0, sum, nullptr, nullptr, 1) == RENYI_INVALID_ARGUMENT);
    CHECK(renyi_clip_and_sum_f32(nullptr, 3, 2, 1.0, nullptr, nullptr, nullptr, 1) == RENYI_INVALID_ARGUMENT);
}

std::vector<double> noise(const uint8_t* key, int law) {
    renyi_generator* generator = nullptr;
    std::vector<double> numbers(100, 0.0);
    CHECK(renyi_generator_new(key, &generator) == RENYI_OK);
    CHECK(renyi_add_noise_f64(generator, law, 2.0, numbers.data(), numbers.size(), 1) == RENYI_OK);
    CHECK(renyi_add_noise_f64(generator, 2, 2.0, numbers.data(), 1, 1) == RENYI_INVALID_ARGUMENT);
    CHECK(renyi_add_noise_f64(generator, law, -1.0, numbers.data(), 1, 1) == RENYI_INVALID_ARGUMENT);
    CHECK(renyi_add_noise_f64(generator, law, 1.0, numbers.data(), 1, 0) == RENYI_INVALID_ARGUMENT);
    CHECK(renyi_add_noise_f32(generator, law, 0.0, nullptr, 0, 1) == RENYI_OK);
    renyi_generator_free(generator);
    return numbers;
}

}  // namespace

int main() {
    numbers();
    compositions();
    sums();

    const uint8_t key[32] = {1, 2, 3};
    CHECK(noise(key, RENYI_GAUSSIAN) == noise(key, RENYI_GAUSSIAN));
    CHECK(noise(key, RENYI_GAUSSIAN) != noise(key, RENYI_LAPLACE));
    CHECK(noise(nullptr, RENYI_GAUSSIAN) != noise(nullptr, RENYI_GAUSSIAN));
    CHECK(renyi_generator_new(key, nullptr) == RENYI_INVALID_ARGUMENT);
    CHECK(renyi_add_noise_f32(nullptr, RENYI_GAUSSIAN, 1.0, nullptr, 0, 1) == RENYI_INVALID_ARGUMENT);
    renyi_generator_free(nullptr);
    return check::finish();
}
