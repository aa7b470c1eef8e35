/* The log domain: sums of exponentials of scores that span more than double precision; part of _simd_body.h. Far below the largest
 * score an exponential is nothing. */

#define NEXT_TO_NOTHING (-708.0)

/* The largest, if that is a number; NaN if one is that and no other is more than -inf */
INLINE double FN(largest)(int64_t n, const double *s) {
    V top = SPREAD(-INFINITY);
    double high = -INFINITY;
    int64_t i = 0;
    for (; i + VW <= n; i += VW) {
        V y = LOAD(s + i);
        top = PICK(GREATER(y, top), y, top);
    }
    for (int g = 0; g < VW; g++) high = top[g] > high ? top[g] : high;
    for (; i < n; i++) high = s[i] > high ? s[i] : high;
    for (i = 0; high == -INFINITY && i < n; i++)
        if (s[i] != s[i]) return s[i];
    return high;
}

/* p = exp(s) / sum exp(s) unless it is NULL; returns log sum exp(s) */
INLINE double FN(log_shares_or_sum)(int64_t n, const double *s, double *p) {
    const double top = FN(largest)(n, s);
    double sum = 0;
    int64_t i = 0;
    if (!isfinite(top)) {
        for (; p && i < n; i++) p[i] = top < 0 ? 0 : top;
        return top;
    }
    V total = SPREAD(0.0);
    for (; i + VW <= n; i += VW) {
        V y = FN(exp_or_nothing)(LOAD(s + i) - top, SPREAD(NEXT_TO_NOTHING));
        total += y;
        if (p) STORE(p + i, y);
    }
    for (int g = 0; g < VW; g++) sum += total[g];
    for (; i < n; i++) {
        double y = exp(s[i] - top);
        sum += y;
        if (p) p[i] = y;
    }
    const double inverse = 1 / sum;
    for (i = 0; p && i < n; i++) p[i] *= inverse;
    return top + log(sum);
}

static double FN(log_sum)(int64_t n, const double *s) {
    return FN(log_shares_or_sum)(n, s, NULL);
}

static double FN(log_shares)(int64_t n, const double *s, double *p) {
    return FN(log_shares_or_sum)(n, s, p);
}

/* out_j = log sum_i exp(p_i + e_ij) */
static void FN(log_forward)(int L, int LP, const double *p, const double *e, double *out) {
    for (int j = 0; j < LP; j += VW) {
        V top = SPREAD(-INFINITY), sum = SPREAD(0.0);
        for (int i = 0; i < L; i++) {
            V y = p[i] + LOAD(e + (int64_t)i * LP + j);
            top = PICK(GREATER(y, top), y, top);
        }
        V base = PICK(GREATER(top, SPREAD(-INFINITY)), top, SPREAD(0.0)); /* nothing is possible: log 0 */
        for (int i = 0; i < L; i++)
            sum += FN(exp_or_nothing)(p[i] + LOAD(e + (int64_t)i * LP + j) - base, SPREAD(NEXT_TO_NOTHING));
        for (int g = 0; g < VW && j + g < L; g++) out[j + g] = base[g] + log(sum[g]);
    }
}

#undef NEXT_TO_NOTHING
