/* The loops of _simd.h for vectors of VW doubles; included once for each target, with FN naming the copy. */

#if defined(__GNUC__)
typedef double FN(vec) __attribute__((vector_size(8 * VW), aligned(8), may_alias));
typedef int64_t FN(ivec) __attribute__((vector_size(8 * VW), aligned(8), may_alias));
typedef float FN(fvec) __attribute__((vector_size(4 * VW), aligned(4), may_alias));
typedef uint64_t FN(uvec) __attribute__((vector_size(8 * VW), aligned(8), may_alias));
#define V FN(vec)
#define I FN(ivec)
#define U FN(uvec)
#if defined(__clang__) /* it takes GCC's words for unknown ones, and sums that shall stay in registers go through memory */
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))
#define LOAD(p) (*(const V *)(p))
#define STORE(p, x) (*(V *)(p) = (x))
#define SPREAD(c) ((double)(c) - (V){0}) /* minus: c + 0.0 is not always c, so it would be computed */
#define GREATER(x, y) ((I)((x) > (y)))
#define PICK(mask, x, y) ((V)(((I)(x) & (mask)) | ((I)(y) & ~(mask))))
#define ROUNDED(x, magic) ((x) + (magic) - (magic)) /* to a multiple of u, magic = 1.5 * 2^52 u */
#else
#error "crftrain's kernels need a compiler with vector extensions: GCC or Clang"
#endif

#define AHEAD 18 /* occurrences: about a token */

/* Rows are taken in panels of 24, 16 or 8 doubles, whose sums stay in registers; 16 + 16 is better than 24 + 8. */
#define PANELS(LP, call)                               \
    for (int at = 0; at < (LP);) {                     \
        int left = (LP) - at;                          \
        if (left >= 24 && left != 32) { call(24); at += 24; } \
        else if (left >= 16) { call(16); at += 16; }   \
        else { call(8); at += 8; }                     \
    }

#include "_simd_blocks.h"

/* exp(y) for -708 <= y <= 0, to about 1 ulp: y = k ln 2 + r, |r| <= ln 2 / 2, and the Taylor polynomial of exp(r).
 * Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits, from where it goes to the exponent. */
INLINE V FN(exp)(V y) {
    const V magic = SPREAD(6755399441055744.0);
    V shifted = y * 1.4426950408889634 + magic;
    V k = shifted - magic;
    V r = y - k * 6.93147180369123816490e-01 - k * 1.90821492927058770002e-10;
    V r2 = r * r, r4 = r2 * r2;
    V p = (1.0 + r) + r2 * (0.5 + r * 1.66666666666666666667e-01);
    V u = 4.16666666666666666667e-02 + r * 8.33333333333333333333e-03 + r2 * (1.38888888888888888889e-03 + r * 1.98412698412698412698e-04);
    V s = 2.48015873015873015873e-05 + r * 2.75573192239858906526e-06 + r2 * (2.75573192239858906526e-07 + r * 2.50521083854417187751e-08);
    V e = 2.08767569878680989792e-09 + r * 1.60590438368216145994e-10;
    p += r4 * (u + r4 * (s + r4 * e));
    return p * (V)(((I)shifted + 1023) << 52);
}

/* exp(y) for y <= 0, 0 below `least`; NaN stays */
INLINE V FN(exp_or_nothing)(V y, V least) {
    I nothing = GREATER(least, y);
    return PICK(nothing, SPREAD(0.0), FN(exp)(PICK(nothing, least, y)));
}

#define DEEP (-500.0) /* what is so far below the largest of its row is nothing, see _kernels.pyx */

static double FN(exp_rows)(int64_t rows, int L, int LP, const double *psi, double *x, double *top) {
    double spread = 0;
    for (int64_t r = 0; r < rows; r++, psi += LP, x += LP) {
        double high = psi[0], low = psi[0];
        V h = SPREAD(high), l = h;
        int j = 0;
        for (; j + VW <= L; j += VW) {
            V y = LOAD(psi + j);
            h = PICK(GREATER(y, h), y, h);
            l = PICK(GREATER(l, y), y, l);
        }
        for (int i = 0; i < VW; i++) {
            if (h[i] > high) high = h[i];
            if (l[i] < low) low = l[i];
        }
        for (; j < L; j++) {
            if (psi[j] > high) high = psi[j];
            if (psi[j] < low) low = psi[j];
        }
        if (!(high - low <= spread)) spread = high - low; /* NaN ends here too */
        top[r] = high;
        if (!(high - low < INFINITY)) continue;           /* the caller takes another way */
        if (high - low <= -DEEP) {
            for (j = 0; j < LP; j += VW) STORE(x + j, FN(exp)(LOAD(psi + j) - high));
        } else {
            for (j = 0; j < LP; j += VW) STORE(x + j, FN(exp_or_nothing)(LOAD(psi + j) - high, SPREAD(DEEP)));
        }
        for (j = L; j < LP; j++) x[j] = 0;
    }
    return spread;
}

/* acc[0:W] = sum_i p[i] M[i][at:at+W], in SETS independent sums so that the additions do not wait for each other */
INLINE void FN(times_matrix)(const int W, int L, int LP, const double *p, const double *M, V *acc) {
    V more[SETS][24 / VW];
    UNROLL for (int s = 0; s < SETS; s++) UNROLL for (int j = 0; j < W / VW; j++) more[s][j] = SPREAD(0.0);
    int i = 0;
    for (; i + SETS <= L; i += SETS)
        UNROLL for (int s = 0; s < SETS; s++) {
            V c = SPREAD(p[i + s]);
            UNROLL for (int j = 0; j < W / VW; j++) more[s][j] += c * LOAD(M + (int64_t)(i + s) * LP + j * VW);
        }
    for (; i < L; i++) {
        V c = SPREAD(p[i]);
        UNROLL for (int j = 0; j < W / VW; j++) more[0][j] += c * LOAD(M + (int64_t)i * LP + j * VW);
    }
    UNROLL for (int j = 0; j < W / VW; j++) {
        acc[j] = more[0][j];
        UNROLL for (int s = 1; s < SETS; s++) acc[j] += more[s][j];
    }
}

INLINE V FN(forward_panel)(const int W, int L, int LP, const double *previous, const double *M, const double *x, double *next) {
    V acc[24 / VW], sum = SPREAD(0.0);
    FN(times_matrix)(W, L, LP, previous, M, acc);
    UNROLL for (int j = 0; j < W / VW; j++) {
        acc[j] *= LOAD(x + j * VW);
        STORE(next + j * VW, acc[j]);
        sum += acc[j];
    }
    return sum;
}

static double FN(forward)(int L, int LP, const double *previous, const double *M, const double *x, double *next) {
    V sum = SPREAD(0.0);
#define CALL(W) sum += FN(forward_panel)(W, L, LP, previous, M + at, x + at, next + at)
    PANELS(LP, CALL)
#undef CALL
    double z = 0;
    for (int i = 0; i < VW; i++) z += sum[i];
    V inverse = SPREAD(1.0 / z);
    for (int j = 0; j < LP; j += VW) STORE(next + j, LOAD(next + j) * inverse);
    return z;
}

INLINE void FN(backward_panel)(const int W, int L, int LP, const double *v, const double *MT, const double *a, double *b, double *q) {
    V acc[24 / VW];
    FN(times_matrix)(W, L, LP, v, MT, acc);
    UNROLL for (int j = 0; j < W / VW; j++) {
        STORE(b + j * VW, acc[j]);
        STORE(q + j * VW, acc[j] * LOAD(a + j * VW));
    }
}

static void FN(backward)(int L, int LP, const double *x, const double *b, double inverse_z, const double *MT, const double *a_previous,
                         double *v, double *b_previous, double *q_previous) {
    for (int j = 0; j < LP; j += VW) STORE(v + j, LOAD(x + j) * LOAD(b + j) * inverse_z);
#define CALL(W) FN(backward_panel)(W, L, LP, v, MT + at, a_previous + at, b_previous + at, q_previous + at)
    PANELS(LP, CALL)
#undef CALL
}

/* A tile of R rows and NV vectors of C stays in registers while t runs. */
INLINE void FN(outer_tile)(const int R, const int NV, int64_t T, int LP, const double *a, const double *v, double *C) {
    V acc[TILE][3];
    UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) acc[i][j] = LOAD(C + (int64_t)i * LP + j * VW);
    for (int64_t t = 0; t < T; t++, a += LP, v += LP)
        UNROLL for (int i = 0; i < R; i++) {
            V c = SPREAD(a[i]);
            UNROLL for (int j = 0; j < NV; j++) acc[i][j] += c * LOAD(v + j * VW);
        }
    UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) STORE(C + (int64_t)i * LP + j * VW, acc[i][j]);
}

static void FN(outer)(int64_t T, int L, int LP, const double *a, const double *v, double *C) {
    for (int i = 0; i < L;) {
        int R = L - i >= TILE ? TILE : L - i >= 2 ? 2 : 1;
        for (int at = 0; at < LP;) {
            int NV = (LP - at) / VW >= 3 ? 3 : 1;
            if (R == TILE && NV == 3) FN(outer_tile)(TILE, 3, T, LP, a + i, v + at, C + (int64_t)i * LP + at);
            else if (R == TILE) FN(outer_tile)(TILE, 1, T, LP, a + i, v + at, C + (int64_t)i * LP + at);
            else if (R == 2 && NV == 3) FN(outer_tile)(2, 3, T, LP, a + i, v + at, C + (int64_t)i * LP + at);
            else if (R == 2) FN(outer_tile)(2, 1, T, LP, a + i, v + at, C + (int64_t)i * LP + at);
            else if (NV == 3) FN(outer_tile)(1, 3, T, LP, a + i, v + at, C + (int64_t)i * LP + at);
            else FN(outer_tile)(1, 1, T, LP, a + i, v + at, C + (int64_t)i * LP + at);
            at += NV * VW;
        }
        i += R;
    }
}

INLINE void FN(viterbi_panel)(const int W, int L, int LP, const double *previous, const double *trans, const double *psi, double *next,
                              int32_t *from) {
    V best[24 / VW];
    I who[24 / VW];
    UNROLL for (int j = 0; j < W / VW; j++) {
        best[j] = LOAD(trans + j * VW) + previous[0];
        who[j] = (I){0};
    }
    for (int i = 1; i < L; i++) {
        V c = SPREAD(previous[i]);
        I number = (I){0} + i;
        UNROLL for (int j = 0; j < W / VW; j++) {
            V score = c + LOAD(trans + (int64_t)i * LP + j * VW);
            I better = GREATER(score, best[j]);
            best[j] = PICK(better, score, best[j]);
            who[j] = (number & better) | (who[j] & ~better);
        }
    }
    UNROLL for (int j = 0; j < W / VW; j++) {
        STORE(next + j * VW, best[j] + LOAD(psi + j * VW));
        for (int i = 0; i < VW; i++) from[j * VW + i] = (int32_t)who[j][i];
    }
}

static void FN(viterbi)(int L, int LP, const double *previous, const double *trans, const double *psi, double *next, int32_t *from) {
#define CALL(W) FN(viterbi_panel)(W, L, LP, previous, trans + at, psi + at, next + at, from + at)
    PANELS(LP, CALL)
#undef CALL
}

static double FN(dot)(int64_t n, const double *x, const double *y) {
    V s0 = SPREAD(0.0), s1 = s0;
    double sum = 0;
    for (int64_t i = 0; i < n; i += 8)
        UNROLL for (int j = 0; j < 8; j += 2 * VW > 8 ? 8 : 2 * VW) {
            s0 += LOAD(x + i + j) * LOAD(y + i + j);
            if (VW < 8) s1 += LOAD(x + i + j + VW % 8) * LOAD(y + i + j + VW % 8);
        }
    s0 += s1;
    for (int i = 0; i < VW; i++) sum += s0[i];
    return sum;
}

static void FN(axpy)(int64_t n, double c, const double *x, double *y) {
    for (int64_t i = 0; i < n; i += VW) STORE(y + i, LOAD(y + i) + c * LOAD(x + i));
}

static double FN(round_to)(int64_t n, double c, double magic, const double *x, double *out) {
    V top = SPREAD(0.0);
    for (int64_t i = 0; i < n; i += VW) {
        V y = c * LOAD(x + i), size = PICK(GREATER(y, SPREAD(0.0)), y, -y);
        top = PICK(GREATER(size, top), size, top);
        STORE(out + i, ROUNDED(y, magic));
    }
    double most = 0;
    for (int i = 0; i < VW; i++)
        if (top[i] > most) most = top[i];
    return most;
}

static void FN(add_rounded)(int64_t n, double c, double magic, const double *x, double *y) {
    for (int64_t i = 0; i < n; i += VW) STORE(y + i, LOAD(y + i) + ROUNDED(c * LOAD(x + i), magic));
}

/* ln y for normal y > 0, to about 2 ulp: y = 2^k m, sqrt(1/2) <= m < sqrt(2), and with s = (m - 1) / (m + 1) the Taylor series
 * ln m = 2 s (1 + s^2/3 + s^4/5 + ...). What is added to the bits of y carries into the exponent where m would reach sqrt(2). */
INLINE V FN(log)(V y) {
    const V magic = SPREAD(6755399441055744.0);
    U bits = (U)y, exponent = (bits + 0x00095f619980c433) >> 52;
    V m = (V)(bits - ((exponent - 1023) << 52)), k = (V)(exponent + (U)magic) - magic - 1023.0;
    V s = (m - 1.0) / (m + 1.0), z = s * s, z2 = z * z, z4 = z2 * z2;
    V p = (1.0 / 3 + z * (1.0 / 5)) + z2 * (1.0 / 7 + z * (1.0 / 9));
    V q = (1.0 / 11 + z * (1.0 / 13)) + z2 * (1.0 / 15 + z * (1.0 / 17));
    V series = 2.0 * s + 2.0 * s * z * (p + z4 * (q + z4 * (1.0 / 19 + z * (1.0 / 21))));
    return k * 6.93147180369123816490e-01 + (series + k * 1.90821492927058770002e-10);
}

static void FN(log_sums)(int64_t n, const double *x, const double *d, double c, double *sums) {
    V s0 = SPREAD(0.0), s1 = s0, s2 = s0;
    const V least = SPREAD(1e-300);
    for (int64_t i = 0; i < n; i += VW) {
        V delta = LOAD(d + i), y = LOAD(x + i) + c * delta;
        y = PICK(GREATER(y, least), y, least);
        V l = FN(log)(y);
        s0 += y * l;
        s1 += delta * l;
        s2 += delta * (delta / y);
    }
    for (int i = 0; i < VW; i++) {
        sums[0] += s0[i];
        sums[1] += s1[i];
        sums[2] += s2[i];
    }
}

#include "_simd_sag.h"
#include "_simd_tangent.h"
#include "_simd_rates.h"
#include "_simd_table.h"
#include "_simd_adagrad.h"
#include "_simd_soft.h"
#include "_simd_logs.h"
#include "_simd_arcs.h"

static const Simd FN(table) = {
    .name = NAME, .gather = FN(gather), .scatter = FN(scatter), .gather_listed = FN(gather_listed),
    .scatter_listed = FN(scatter_listed), .scatter_present = FN(scatter_present), .exp_rows = FN(exp_rows),
    .forward = FN(forward), .backward = FN(backward), .outer = FN(outer), .viterbi = FN(viterbi), .settle = FN(settle),
    .settle_rows = FN(settle_rows), .dot = FN(dot), .axpy = FN(axpy), .round_to = FN(round_to),
    .add_rounded = FN(add_rounded), .tangent = FN(tangent), .log_sums = FN(log_sums),
    .keep_present = FN(keep_present), .exchange = FN(exchange), .widen = FN(widen), .scatter_rated = FN(scatter_rated), .fade = FN(fade),
    .adapt = FN(adapt), .look_up = FN(look_up), .adagrad_sleep = FN(adagrad_sleep), .adagrad_step = FN(adagrad_step),
    .arcs_forward = FN(arcs_forward), .arcs_backward = FN(arcs_backward), .arcs_tangent = FN(arcs_tangent), .log_sum = FN(log_sum),
    .log_shares = FN(log_shares), .log_forward = FN(log_forward),
    .arcs_viterbi = FN(arcs_viterbi), .lanes_forward = FN(lanes_forward), .lanes_backward = FN(lanes_backward),
    .sum_records = FN(sum_records),
    .settle_soft = FN(settle_soft), .soften = FN(soften), .pay_block = FN(pay_block), .pay = FN(pay),
};

#undef V
#undef I
#undef U
#undef UNROLL
#undef INLINE
#undef PREFETCH
#undef LOAD
#undef STORE
#undef SPREAD
#undef GREATER
#undef PICK
#undef ROUNDED
#undef PANELS
#undef AHEAD
