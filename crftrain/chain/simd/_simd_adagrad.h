/* The loops of _simd.h for AdaGrad; part of _simd_body.h. s is the root of the sum of a weight's squared gradients. */

INLINE V FN(root)(V x) {
    for (int i = 0; i < VW; i++) x[i] = __builtin_sqrt(x[i]);
    return x;
}

/* x with its sign, |x| smaller by c but not below 0 */
INLINE V FN(towards_zero)(V x, V size, V c) {
    const I sign = (I)SPREAD(-0.0);
    V left = size - c, none = SPREAD(0.0);
    return (V)((I)PICK(GREATER(left, none), left, none) | ((I)x & sign));
}

INLINE V FN(magnitude)(V x) { return (V)((I)x & ~(I)SPREAD(-0.0)); }

/* m times |w| <- r |w| - c, as the m-th power of that map, by squaring */
INLINE V FN(asleep)(int64_t m, double eta, double delta, double l2, double l1, V w, V s) {
    V inverse = 1.0 / (delta + s + eta * l2), r = (delta + s) * inverse, c = eta * l1 * inverse;
    V power = SPREAD(1.0), constant = SPREAD(0.0);
    for (;; m >>= 1) {
        if (m & 1) {
            power *= r;
            constant = r * constant + c;
        }
        if (m <= 1) break;
        c += r * c;
        r *= r;
    }
    return FN(towards_zero)(w, power * FN(magnitude)(w), constant);
}

static void FN(adagrad_sleep)(int64_t n, int64_t m, double eta, double delta, double l2, double l1, double *w, const double *s) {
    int64_t i = 0;
    for (; i + VW <= n; i += VW) STORE(w + i, FN(asleep)(m, eta, delta, l2, l1, LOAD(w + i), LOAD(s + i)));
    if (i < n)
        FN(store_few)(n - i, FN(asleep)(m, eta, delta, l2, l1, FN(load_few)(n - i, w + i), FN(load_few)(n - i, s + i)), w + i);
}

/* S(w - alpha g, alpha l1) / (1 + alpha l2) for alpha = eta / (delta + s): with both sides times delta + s it takes one division */
INLINE V FN(awake)(double eta, double delta, double l2, double l1, V w, V s, V g) {
    V x = (delta + s) * w - eta * g;
    return FN(towards_zero)(x, FN(magnitude)(x), SPREAD(eta * l1)) / (delta + s + eta * l2);
}

static void FN(adagrad_step)(int64_t n, double eta, double delta, double l2, double l1, double *w, double *s, const double *g) {
    int64_t i = 0;
    for (; i + VW <= n; i += VW) {
        V slope = LOAD(g + i), before = LOAD(s + i), now = FN(root)(before * before + slope * slope);
        STORE(s + i, now);
        STORE(w + i, FN(awake)(eta, delta, l2, l1, LOAD(w + i), now, slope));
    }
    if (i < n) {
        V slope = FN(load_few)(n - i, g + i), before = FN(load_few)(n - i, s + i), now = FN(root)(before * before + slope * slope);
        FN(store_few)(n - i, now, s + i);
        FN(store_few)(n - i, FN(awake)(eta, delta, l2, l1, FN(load_few)(n - i, w + i), now, slope), w + i);
    }
}
