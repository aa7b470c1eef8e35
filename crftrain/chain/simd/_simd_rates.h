/* The loops of _simd.h for weights with a rate for each; part of _simd_body.h. */

/* n numbers from p on, which are fewer than a vector holds; a loop over the whole vector becomes one masked instruction */
INLINE V FN(load_few)(int64_t n, const double *p) {
    V x;
    for (int64_t i = 0; i < VW; i++) x[i] = i < n ? p[i] : 0.0;
    return x;
}

INLINE void FN(store_few)(int64_t n, V x, double *p) {
    for (int64_t i = 0; i < VW; i++)
        if (i < n) p[i] = x[i];
}

/* exp(-x) for x >= 0: up to 0.001 four terms of the series are exact, beyond 700 it counts as 700 */
INLINE V FN(decay)(V x, int near) {
    const V most = SPREAD(700.0);
    if (near) return 1 - x * (1 - x * (0.5 - x * (1.0 / 6 - x * (1.0 / 24))));
    return FN(exp)(-PICK(GREATER(x, most), most, x));
}

INLINE void FN(fade_by)(int near, int64_t n, double c, const double *rate, const double *w, double *out) {
    int64_t i = 0;
    for (; i + VW <= n; i += VW) STORE(out + i, LOAD(w + i) * FN(decay)(c * LOAD(rate + i), near));
    if (i < n) FN(store_few)(n - i, FN(load_few)(n - i, w + i) * FN(decay)(c * FN(load_few)(n - i, rate + i), near), out + i);
}

static void FN(fade)(int64_t n, double c, double most, const double *rate, const double *w, double *out) {
    if (c * most <= 0.001) FN(fade_by)(1, n, c, rate, w, out);
    else FN(fade_by)(0, n, c, rate, w, out);
}

/* rate o (m + u) / (m + kappa + n), u = (w - middle) / (middle - start) cut to [-kappa, kappa]; what is no number counts as 0 */
INLINE V FN(adapted)(V start, V middle, V w, V rate, double kappa, double m, double n) {
    V before = middle - start, u = (w - middle) / before, high = SPREAD(kappa), low = SPREAD(-kappa);
    I moved = (I)(before != 0.0) & (I)(u == u);
    u = PICK(GREATER(u, high), high, u);
    u = PICK(GREATER(low, u), low, u);
    u = (V)((I)u & moved);
    return rate * ((m + u) / (m + kappa + n));
}

static void FN(adapt)(int64_t size, double kappa, double m, double n, const double *start, const double *middle, const double *w,
                      double *rate) {
    int64_t i = 0;
    for (; i + VW <= size; i += VW)
        STORE(rate + i, FN(adapted)(LOAD(start + i), LOAD(middle + i), LOAD(w + i), LOAD(rate + i), kappa, m, n));
    if (i < size) {
        const int64_t left = size - i;
        V s = FN(load_few)(left, start + i), h = FN(load_few)(left, middle + i);
        V x = FN(load_few)(left, w + i), r = FN(load_few)(left, rate + i);
        FN(store_few)(left, FN(adapted)(s, h, x, r, kappa, m, n), rate + i);
    }
}

/* blocks of the tokens += c rate o q */
static void FN(scatter_rated)(const Occurrences *o, const Blocks *b, const Blocks *rate, int64_t first, int64_t T, int LP, double c,
                              const double *q) {
    const int64_t *const ptr = b->ptr;
    for (int64_t t = first; t < first + T; t++, q += LP) {
        int64_t split = o->split[t], to = o->ptr[t + 1];
        for (int64_t k = o->ptr[t]; k < to; k++) {
            int64_t a = o->attr[k];
            double by = o->value ? c * o->value[k] : c, *row = b->rows + a * b->stride;
            const double *rates = rate->rows + a * b->stride;
            if (k < split)
                for (int j = 0; j < LP; j += VW) STORE(row + j, LOAD(row + j) + by * LOAD(rates + j) * LOAD(q + j));
            else
                for (int64_t p = ptr[a]; p < ptr[a + 1]; p++) b->w[p] += by * rate->w[p] * q[b->label[p]];
        }
    }
}
