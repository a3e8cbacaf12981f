/* Whether today's capability set is the one that was reviewed. */
#include "broker/daemon/currency.h"

#include "base/clock.h"

#define DAY_MS ((int64_t)24 * 60 * 60 * 1000)

int bh_currency_judge(const struct bh_policy *policy, const struct bh_capabilities *capabilities,
                      const struct bh_review_row *review, int64_t now_ms, struct bh_currency *ret,
                      struct bh_error *error)
{
        struct bh_capabilities reviewed = {0};
        if (review) {
                struct bh_json_at at = BH_JSON_ROOT(review->capabilities);
                if (bh_capabilities_decode(&at, &reviewed, error) < 0)
                        return bh_error_prefix(error, "review %lld", (long long)review->number);
        }
        json_t *grown = bh_capabilities_added(&reviewed, capabilities);
        bh_capabilities_clear(&reviewed);
        int64_t age_ms = review ? now_ms - review->reviewed_ms : 0;
        *ret = (struct bh_currency){.grown = grown,
                                    .stale = !review || json_array_size(grown) > 0 ||
                                             now_ms >= review->expires_ms ||
                                             age_ms >= policy->currency_max_age_days * DAY_MS};
        return 0;
}

json_t *bh_currency_encode_take(struct bh_currency *currency, const char *capability_digest,
                                const struct bh_review_row *review)
{
        char at[BH_TIME_TEXT_SIZE];
        if (review)
                bh_time_format(review->reviewed_ms, at);
        json_t *grown = currency->grown;
        currency->grown = NULL;
        return json_pack("{ssss?ss?ss?sosb}", "capability_digest", capability_digest,
                         "reviewed_digest", review ? review->digest : NULL, "reviewed_at",
                         review ? at : NULL, "reviewed_by", review ? review->reviewer : NULL,
                         "grown_since_review", grown, "stale", currency->stale);
}
