/* The loop of _simd.h for a function by table; part of _simd_body.h. */

/* All n numbers g by the line or by the table; 0: one is beyond 1 */
INLINE int FN(look_up_some)(const int n, double c, const Table *f, double *g) {
    const V sign = (V)((I){0} + INT64_MIN), line = SPREAD(c * f->slope), last = SPREAD(f->entries);
    V size[24 / VW], top = SPREAD(0.0);
    UNROLL for (int j = 0; j < n / VW; j++) {
        size[j] = (V)((I)LOAD(g + j * VW) & ~(I)sign);
        top = PICK(GREATER(size[j], top), size[j], top);
    }
    double largest = top[0];
    for (int i = 1; i < VW; i++) largest = top[i] > largest ? top[i] : largest;
    if (largest > 1) return 0;
    if (largest <= f->straight) {
        UNROLL for (int j = 0; j < n; j += VW) STORE(g + j, line * LOAD(g + j));
        return 1;
    }
    UNROLL for (int j = 0; j < n / VW; j++) {
        V place = size[j] * last, value, step;
        I entry = __builtin_convertvector(PICK(GREATER(last, place), place, last), I); /* in the table even where x is NaN */
        UNROLL for (int i = 0; i < VW; i++) {
            value[i] = f->pairs[2 * entry[i]];
            step[i] = f->pairs[2 * entry[i] + 1];
        }
        V y = c * (value + (place - __builtin_convertvector(entry, V)) * step);
        STORE(g + j * VW, (V)((I)y ^ ((I)LOAD(g + j * VW) & (I)sign)));
    }
    return 1;
}

static int64_t FN(look_up)(int64_t n, double c, const Table *f, double *g) {
    int64_t k = 0;
    for (; k + 24 <= n; k += 24)
        if (!FN(look_up_some)(24, c, f, g + k)) return k;
    for (; k < n; k += 8)
        if (!FN(look_up_some)(8, c, f, g + k)) return k;
    return n;
}
