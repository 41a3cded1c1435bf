/* Prints what the C interface answers, to the last bit. */
#include <renyi.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int status) {
    if (status != RENYI_OK) {
        fprintf(stderr, "%s\n", renyi_status_text(status));
        exit(1);
    }
}

int main(void) {
    const renyi_step steps[] = {{0.01, 1.0, 1000.0}, {1.0, 8.0, 3.0}};
    const double deltas[] = {1e-5, 1e-7}, epsilons[] = {0.0, 1.5};
    renyi_bracket found[2];
    const float rows[] = {3.0f, 4.0f, 0.3f, 0.4f};
    float sum[2], numbers[4] = {0.0f, 1.0f, 2.0f, 3.0f};
    double norms[2], factors[2];
    const uint8_t key[32] = {1, 2, 3};
    renyi_generator* generator = NULL;

    if (renyi_abi_version() != RENYI_ABI_VERSION || !renyi_floating_point_is_sound()) return 1;
    printf("version %s\n", renyi_version());
    printf("log_a %a %a %a\n", renyi_log_a(0.01, 1.0, 2.5), renyi_log_a_lower(0.01, 1.0, 2.5),
           renyi_log_a_upper(0.01, 1.0, 2.5));
    printf("rdp %a %a %a\n", renyi_rdp(0.01, 1.0, 2.5), renyi_rdp_lower(0.01, 1.0, 2.5), renyi_rdp_upper(0.01, 1.0, 2.5));
    printf("one %a %a\n", renyi_epsilon_upper(0.01, 1.0, 1000.0, 1e-5), renyi_delta_upper(0.01, 1.0, 1000.0, 1.5));

    check(renyi_epsilon(steps, 2, deltas, 2, found));
    printf("epsilon %a %a %a %a\n", found[0].lower, found[0].upper, found[1].lower, found[1].upper);
    check(renyi_delta(steps, 2, epsilons, 2, found));
    printf("delta %a %a %a %a\n", found[0].lower, found[0].upper, found[1].lower, found[1].upper);

    check(renyi_clip_and_sum_f32(rows, 2, 2, 1.0, sum, norms, factors, 1));
    printf("clip %a %a %a %a\n", sum[0], sum[1], norms[0], norms[1]);
    check(renyi_generator_new(key, &generator));
    check(renyi_add_noise_f32(generator, RENYI_GAUSSIAN, 2.0, numbers, 4, 1));
    printf("noise %a %a %a %a\n", numbers[0], numbers[1], numbers[2], numbers[3]);
    renyi_generator_free(generator);

    return renyi_epsilon(steps, 2, epsilons, 2, found) == RENYI_INVALID_ARGUMENT ? 0 : 1;
}
