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

/* out[0:W] = sum_k value_k rows[attr_k * stride + at ...] */
INLINE void FN(sum_rows)(const int W, const Occurrences *o, const Blocks *b, int64_t from, int64_t to, int at, double *out) {
    V acc[24 / VW];
    UNROLL for (int j = 0; j < W / VW; j++) acc[j] = SPREAD(0.0);
    for (int64_t k = from; k < to; k++) {
        const double *row = b->rows + o->attr[k] * b->stride + at;
        if (o->value) {
            V c = SPREAD(o->value[k]);
            UNROLL for (int j = 0; j < W / VW; j++) acc[j] += c * LOAD(row + j * VW);
        } else
            UNROLL for (int j = 0; j < W / VW; j++) acc[j] += LOAD(row + j * VW);
    }
    UNROLL for (int j = 0; j < W / VW; j++) STORE(out + at + j * VW, acc[j]);
}

/* Attributes of few labels are met all over the vector: bring near what occurrences further on will need. */
INLINE void FN(fetch_block)(const Occurrences *o, const Blocks *b, int64_t k, int64_t end) {
    if (k + 2 * AHEAD < end) crf_prefetch(b->ptr + o->attr[k + 2 * AHEAD]);
    if (k + AHEAD < end) {
        int64_t p = b->ptr[o->attr[k + AHEAD]];
        crf_prefetch(b->w + p);
        crf_prefetch(b->label + p);
    }
}

/* psi = the sum of a token's whole rows */
INLINE void FN(gather_rows)(const Occurrences *o, const Blocks *b, int64_t from, int64_t to, int LP, double *psi) {
    if (LP > 24) /* a wide row is visited panel by panel: bring it all near at the first */
        for (int64_t k = from; k < to; k++) crf_prefetch(b->rows + o->attr[k] * b->stride + 24);
#define CALL(W) FN(sum_rows)(W, o, b, from, to, at, psi)
    PANELS(LP, CALL)
#undef CALL
}

static void FN(gather)(const Occurrences *o, const Blocks *b, int64_t first, int64_t T, int L, int LP, double *psi) {
    const int64_t end = o->ptr[first + T];
    for (int64_t t = 0; t < T; t++, psi += LP) {
        int64_t split = o->split[first + t], to = o->ptr[first + t + 1];
        FN(gather_rows)(o, b, o->ptr[first + t], split, LP, psi);
        for (int64_t k = split; k < to; k++) {
            FN(fetch_block)(o, b, k, end);
            int32_t a = o->attr[k];
            double c = o->value ? o->value[k] : 1.0;
            for (int64_t p = b->ptr[a]; p < b->ptr[a + 1]; p++) psi[b->label[p]] += c * b->w[p];
        }
        for (int j = L; j < LP; j++) psi[j] = psi[0];
    }
}

/* out[0:W] = sum of the rows */
INLINE void FN(add_records)(const int W, int n, const float *const *rows, int m, const double *const *wide, int at, double *out) {
    V acc[24 / VW];
    UNROLL for (int j = 0; j < W / VW; j++) acc[j] = SPREAD(0.0);
    for (int k = 0; k < n; k++)
        UNROLL for (int j = 0; j < W / VW; j++)
            acc[j] += __builtin_convertvector(*(const FN(fvec) *)(rows[k] + at + j * VW), V);
    for (int k = 0; k < m; k++)
        UNROLL for (int j = 0; j < W / VW; j++) acc[j] += LOAD(wide[k] + at + j * VW);
    UNROLL for (int j = 0; j < W / VW; j++) STORE(out + at + j * VW, acc[j]);
}

static void FN(sum_records)(int n, const float *const *rows, int m, const double *const *wide, int LP, double *psi) {
#define CALL(W) FN(add_records)(W, n, rows, m, wide, at, psi)
    PANELS(LP, CALL)
#undef CALL
}

/* rows[attr_k * stride + at ...] += value_k q[0:W] */
INLINE void FN(add_to_rows)(const int W, const Occurrences *o, const Blocks *b, int64_t from, int64_t to, int at, const double *q) {
    V x[24 / VW];
    UNROLL for (int j = 0; j < W / VW; j++) x[j] = LOAD(q + at + j * VW);
    for (int64_t k = from; k < to; k++) {
        double *row = b->rows + o->attr[k] * b->stride + at;
        if (o->value && b->magic != 0) {
            V c = SPREAD(o->value[k]);
            UNROLL for (int j = 0; j < W / VW; j++) STORE(row + j * VW, LOAD(row + j * VW) + ROUNDED(c * x[j], b->magic));
        } else if (o->value) {
            V c = SPREAD(o->value[k]);
            UNROLL for (int j = 0; j < W / VW; j++) STORE(row + j * VW, LOAD(row + j * VW) + c * x[j]);
        } else
            UNROLL for (int j = 0; j < W / VW; j++) STORE(row + j * VW, LOAD(row + j * VW) + x[j]);
    }
}

/* The padding of q is zero, so what a padded row writes past its L labels leaves the next block as it is. */
INLINE void FN(scatter_rows)(const Occurrences *o, const Blocks *b, int64_t from, int64_t to, int LP, const double *q) {
#define CALL(W) FN(add_to_rows)(W, o, b, from, to, at, q)
    PANELS(LP, CALL)
#undef CALL
}

static void FN(scatter)(const Occurrences *o, const Blocks *b, int64_t first, int64_t T, int L, int LP, const double *q) {
    const int64_t end = o->ptr[first + T];
    for (int64_t t = 0; t < T; t++, q += LP) {
        int64_t split = o->split[first + t], to = o->ptr[first + t + 1];
        FN(scatter_rows)(o, b, o->ptr[first + t], split, LP, q);
        for (int64_t k = split; k < to; k++) {
            FN(fetch_block)(o, b, k, end);
            int32_t a = o->attr[k];
            double c = o->value ? o->value[k] : 1.0;
            if (b->magic != 0 && o->value)
                for (int64_t p = b->ptr[a]; p < b->ptr[a + 1]; p++) b->w[p] += ROUNDED(c * q[b->label[p]], b->magic);
            else
                for (int64_t p = b->ptr[a]; p < b->ptr[a + 1]; p++) b->w[p] += c * q[b->label[p]];
        }
    }
}

/* The same two where the weights of sparse blocks are listed one by one: no block to look up, no branch to foretell. */
static void FN(gather_listed)(const Occurrences *o, const Blocks *b, const Listed *l, int64_t i, int64_t first, int64_t T, int LP,
                              double *psi) {
    const uint32_t *const from = l->from, *const to = l->to;
    const double *const w = b->w, *const value = l->value;
    const int64_t end = l->ptr[i + 1];
    for (int64_t t = 0; t < T; t++) FN(gather_rows)(o, b, o->ptr[first + t], o->split[first + t], LP, psi + t * LP);
    for (int64_t e = l->ptr[i]; e < end; e++) {
        crf_prefetch(w + from[e + LISTED_AHEAD]);
        psi[to[e]] += (value ? value[e] : 1.0) * w[from[e]];
    }
}

static void FN(scatter_listed)(const Occurrences *o, const Blocks *b, const Listed *l, int64_t i, int64_t first, int64_t T, int LP,
                               const double *q) {
    const uint32_t *const from = l->from, *const to = l->to;
    const double *const value = l->value;
    double *const w = b->w;
    const int64_t end = l->ptr[i + 1];
    for (int64_t t = 0; t < T; t++) FN(scatter_rows)(o, b, o->ptr[first + t], o->split[first + t], LP, q + t * LP);
    if (value && b->magic != 0)
        for (int64_t e = l->ptr[i]; e < end; e++) w[from[e]] += ROUNDED(value[e] * q[to[e]], b->magic);
    else
        for (int64_t e = l->ptr[i]; e < end; e++) {
            crf_prefetch(w + from[e + LISTED_AHEAD]);
            w[from[e]] += (value ? value[e] : 1.0) * q[to[e]];
        }
}

/* v += c d over a row; add_present only at the labels that the bits name */
INLINE void FN(add_row)(int LP, double c, const double *d, double *v) {
    for (int j = 0; j < LP; j += VW) STORE(v + j, LOAD(v + j) + c * LOAD(d + j));
}

/* all ones in the lanes that the lowest VW bits name */
INLINE I FN(lanes)(uint64_t bits) {
    I lane;
    for (int i = 0; i < VW; i++) lane[i] = (int64_t)1 << i;
    return (((I){0} + (int64_t)bits) & lane) != 0;
}

INLINE void FN(add_present)(int LP, double c, const double *d, double *v, uint64_t bits) {
    for (int j = 0; j < LP; j += VW, bits >>= VW) STORE(v + j, LOAD(v + j) + c * (V)((I)LOAD(d + j) & FN(lanes)(bits)));
}

static void FN(scatter_present)(const Occurrences *o, const Blocks *b, int64_t first, int64_t T, int L, int LP, const double *q) {
    const int64_t *const ptr = b->ptr;
    for (int64_t t = first; t < first + T; t++, q += LP) {
        int64_t split = o->split[t], to = o->ptr[t + 1];
        for (int64_t k = o->ptr[t]; k < to; k++) {
            int64_t a = o->attr[k];
            double c = o->value ? o->value[k] : 1.0, *row = b->rows + a * b->stride;
            if (k >= split)
                for (int64_t p = ptr[a]; p < ptr[a + 1]; p++) b->w[p] += c * q[b->label[p]];
            else if (b->whole)
                FN(add_row)(LP, c, q, row);
            else if (b->present)
                FN(add_present)(LP, c, q, row, b->present[a]);
            else
                for (int64_t p = ptr[a]; p < ptr[a + 1]; p++) row[b->label[p]] += c * q[b->label[p]];
        }
    }
}

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
        if (!(high - low <= 700)) continue;               /* the caller takes another way */
        for (j = 0; j < LP; j += VW) STORE(x + j, FN(exp)(LOAD(psi + j) - high));
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

static void FN(settle)(const Occurrences *o, const Blocks *v, const Blocks *d, double *last, double S, int64_t first, int64_t T, int L,
                       int LP) {
    const int64_t end = o->ptr[first + T], stride = v->stride, *const ptr = v->ptr;
    const int32_t *const attr = o->attr, *const label = v->label;
    const uint64_t *const present = v->present;
    const double *const d_rows = d->rows, *const d_w = d->w;
    double *const v_rows = v->rows, *const v_w = v->w;
    const int whole = v->whole;
    for (int64_t t = first; t < first + T; t++) {
        int64_t split = o->split[t], to = o->ptr[t + 1];
        for (int64_t k = o->ptr[t]; k < to; k++) {
            if (k + 24 < end) {
                crf_prefetch(last + attr[k + 24]);
                if (!whole) crf_prefetch(ptr + attr[k + 24]);
            }
            if (k + 12 < end) { /* taken for what it mostly is; if it is not, what is fetched does no harm */
                int64_t next = attr[k + 12];
                if (k + 12 < split)
                    for (int j = 0; j < LP; j += 8) {
                        crf_prefetch(v_rows + next * stride + j);
                        crf_prefetch(d_rows + next * stride + j);
                    }
                else if (!whole) {
                    crf_prefetch(v_w + ptr[next]);
                    crf_prefetch(d_w + ptr[next]);
                    crf_prefetch(label + ptr[next]);
                }
            }
            int64_t a = attr[k];
            double owed = S - last[a];
            if (owed == 0) continue;
            last[a] = S;
            if (k >= split)
                for (int64_t p = ptr[a]; p < ptr[a + 1]; p++) v_w[p] -= owed * d_w[p];
            else if (whole)
                FN(add_row)(LP, -owed, d_rows + a * stride, v_rows + a * stride);
            else if (present)
                FN(add_present)(LP, -owed, d_rows + a * stride, v_rows + a * stride, present[a]);
            else
                for (int64_t p = ptr[a]; p < ptr[a + 1]; p++) v_rows[a * stride + label[p]] -= owed * d_rows[a * stride + label[p]];
        }
    }
}

static double FN(settle_rows)(int64_t rows, int L, int LP, double *v, const double *d, double *last, double S, double beta, double scale,
                              double l2, double *w) {
    V top = SPREAD(0.0), bottom = top;
    for (int64_t r = 0; r < rows; r++, v += LP, d += LP, w += L) {
        V owed = SPREAD(S - last[r]);
        last[r] = 0;
        for (int j = 0; j < LP; j += VW) {
            V slope = LOAD(d + j), value = beta * (LOAD(v + j) - owed * slope);
            STORE(v + j, value);
            V gap = scale * slope + l2 * value;
            top = PICK(GREATER(gap, top), gap, top);
            bottom = PICK(GREATER(bottom, gap), gap, bottom);
        }
        for (int j = 0; j < L; j++) w[j] = v[j];
    }
    double largest = 0;
    for (int i = 0; i < VW; i++) {
        if (top[i] > largest) largest = top[i];
        if (-bottom[i] > largest) largest = -bottom[i];
    }
    return largest;
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

/* C[x] = sum_k a[k * by_k + x * by_x] M[k], and the same with a2 and M2 if there are any: [0:NV] of R rows x of C,
 * which stay in registers while k runs. */
INLINE void FN(product_tile)(const int R, const int NV, int64_t n, int64_t by_k, int64_t by_x, int LP, const double *a,
                             const double *M, const double *a2, const double *M2, double *C) {
    V acc[TILE][3];
    UNROLL for (int x = 0; x < R; x++) UNROLL for (int j = 0; j < NV; j++) acc[x][j] = SPREAD(0.0);
    for (int twice = 0; twice < 2; twice++, a = a2, M = M2)
        for (int64_t k = 0; a && k < n; k++, a += by_k, M += LP)
            UNROLL for (int x = 0; x < R; x++) {
                V c = SPREAD(a[x * by_x]);
                UNROLL for (int j = 0; j < NV; j++) acc[x][j] += c * LOAD(M + j * VW);
            }
    UNROLL for (int x = 0; x < R; x++) UNROLL for (int j = 0; j < NV; j++) STORE(C + (int64_t)x * LP + j * VW, acc[x][j]);
}

/* R rows of C, panel by panel */
INLINE void FN(product_rows)(const int R, int64_t n, int64_t by_k, int64_t by_x, int LP, const double *a, const double *M,
                             const double *a2, const double *M2, double *C) {
    for (int at = 0; at < LP;) {
        int left = (LP - at) / VW, NV = left >= 3 && left != 4 ? 3 : left >= 2 ? 2 : 1;
#define TILED(NV) FN(product_tile)(R, NV, n, by_k, by_x, LP, a, M + at, a2, a2 ? M2 + at : NULL, C + at)
        if (NV == 3) TILED(3);
        else if (NV == 2) TILED(2);
        else TILED(1);
#undef TILED
        at += NV * VW;
    }
}

/* C[rows], in tiles; the last one may write rows beyond, fewer than TILE / 2 */
INLINE void FN(product)(int64_t rows, int64_t n, int64_t by_k, int64_t by_x, int LP, const double *a, const double *M,
                        const double *a2, const double *M2, double *C) {
    int64_t x = 0;
#define ROWS(R) FN(product_rows)(R, n, by_k, by_x, LP, a + x * by_x, M, a2 ? a2 + x * by_x : NULL, M2, C + x * LP)
    for (; x + TILE / 2 < rows; x += TILE) ROWS(TILE);
    for (; x < rows; x += TILE / 2) ROWS(TILE / 2);
#undef ROWS
}

/* out[t] = a[t]' M for T rows */
INLINE void FN(times_rows)(int64_t T, int L, int LP, const double *a, const double *M, double *out) {
    FN(product)(T, L, 1, LP, LP, a, M, NULL, NULL, out);
}

/* sum = p'M and other = v'N together, so that neither's additions wait */
INLINE void FN(times_two)(const int W, int L, int LP, const double *p, const double *M, const double *v, const double *N, V *sum,
                          V *other) {
    const int sets = W / VW < 4 ? SETS : 1;
    V x[SETS][24 / VW], y[SETS][24 / VW];
    UNROLL for (int s = 0; s < sets; s++) UNROLL for (int j = 0; j < W / VW; j++) x[s][j] = y[s][j] = SPREAD(0.0);
    int i = 0;
    for (; i + sets <= L; i += sets)
        UNROLL for (int s = 0; s < sets; s++, M += LP, N += LP) {
            V c = SPREAD(p[i + s]), d = SPREAD(v[i + s]);
            UNROLL for (int j = 0; j < W / VW; j++) {
                x[s][j] += c * LOAD(M + j * VW);
                y[s][j] += d * LOAD(N + j * VW);
            }
        }
    for (; i < L; i++, M += LP, N += LP)
        UNROLL for (int j = 0; j < W / VW; j++) {
            x[0][j] += SPREAD(p[i]) * LOAD(M + j * VW);
            y[0][j] += SPREAD(v[i]) * LOAD(N + j * VW);
        }
    UNROLL for (int j = 0; j < W / VW; j++) {
        sum[j] = x[0][j];
        other[j] = y[0][j];
        UNROLL for (int s = 1; s < sets; s++) {
            sum[j] += x[s][j];
            other[j] += y[s][j];
        }
    }
}

/* Position k of the forward recursion and `back` of the other: neither waits for the other. */
INLINE void FN(tangent_panel)(const int W, int L, int LP, const double *M, const double *MT, int64_t k, int64_t back, int at,
                              const double *a, const double *y, const double *u, const double *r, double scale, double *A, double *B,
                              double *du) {
    V sum[24 / VW], other[24 / VW];
    FN(times_two)(W, L, LP, A + k - LP, M + at, du + back + LP, MT + at, sum, other);
    k += at;
    back += at;
    UNROLL for (int j = 0; j < W; j += VW) {
        STORE(A + k + j, LOAD(a + k + j) * (scale * LOAD(r + k + j)) + LOAD(y + k + j) * (sum[j / VW] + scale * LOAD(A + k + j)));
        V b = other[j / VW] + scale * LOAD(B + back + j);
        STORE(B + back + j, b);
        STORE(du + back + j, LOAD(u + back + j) * (scale * LOAD(r + back + j)) + LOAD(y + back + j) * b);
    }
}

static void FN(tangent)(int64_t T, int L, int LP, const double *M, const double *MT, const double *R, const double *RT, const double *a,
                        const double *b, const double *y, const double *r, double scale, double *u, double *A, double *B, double *du,
                        double *q, double *C, const double *soon, int64_t n_soon) {
    const int64_t end = T * LP, last = end - LP;
    for (int64_t k = 0; k < end; k += VW) STORE(u + k, LOAD(y + k) * LOAD(b + k));
    FN(times_rows)(T - 1, L, LP, a, R, A + LP);
    FN(times_rows)(T - 1, L, LP, u + LP, RT, B);
    for (int j = 0; j < LP; j += VW) {
        STORE(A + j, LOAD(a + j) * (scale * LOAD(r + j)));
        STORE(B + last + j, SPREAD(0.0));
        STORE(du + last + j, LOAD(u + last + j) * (scale * LOAD(r + last + j)));
    }
    const int64_t fetch = T > 1 ? n_soon / (T - 1) / 8 * 8 + 8: 0;
    for (int64_t k = LP, back = last - LP; k < end; k += LP, back -= LP) {
        for (int64_t j = 0; j < fetch; j += 8) __builtin_prefetch(soon + j, 0, 0);
        soon += fetch;
#define CALL(W) FN(tangent_panel)(W, L, LP, M, MT, k, back, at, a, y, u, r, scale, A, B, du)
        PANELS(LP, CALL)
#undef CALL
    }
    double E = 0;
    for (int j = 0; j < L; j++) E += A[last + j];
    for (int64_t k = 0; k < end; k += VW) {
        V centred = LOAD(A + k) - E * LOAD(a + k);
        STORE(A + k, centred);
        STORE(q + k, centred * LOAD(b + k) + LOAD(a + k) * LOAD(B + k));
    }
    FN(product)(LP, T - 1, LP, 1, LP, A, u + LP, a, du + LP, C); /* sum of A u' + a du' over pairs of positions */
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

static double FN(keep_present)(int64_t rows, int LP, const int32_t *attr, const uint64_t *present, double *x) {
    V sum = SPREAD(0.0);
    for (int64_t r = 0; r < rows; r++) {
        uint64_t bits = present[attr[r]];
        for (int j = 0; j < LP; j += VW, bits >>= VW, x += VW) {
            V kept = (V)((I)LOAD(x) & FN(lanes)(bits));
            STORE(x, kept);
            sum += kept * kept;
        }
    }
    double total = 0;
    for (int i = 0; i < VW; i++) total += sum[i];
    return total;
}

/* The last numbers, where they fill no vector of their own, share one with those before: it is read first and written last. */
static void FN(exchange)(int64_t n, double *x, float *memory) {
    typedef float F __attribute__((vector_size(4 * VW), aligned(4), may_alias));
    int64_t k = 0;
    if (n >= VW) {
        double *x_end = x + n - VW;
        float *end = memory + n - VW;
        F last = __builtin_convertvector(LOAD(x_end), F);
        V change = __builtin_convertvector(last, V) - __builtin_convertvector(*(F *)end, V);
        for (; k + VW <= n; k += VW) {
            F now = __builtin_convertvector(LOAD(x + k), F);
            STORE(x + k, __builtin_convertvector(now, V) - __builtin_convertvector(*(F *)(memory + k), V));
            *(F *)(memory + k) = now;
        }
        STORE(x_end, change);
        *(F *)end = last;
        return;
    }
    for (; k < n; k++) {
        float now = (float)x[k];
        x[k] = (double)now - (double)memory[k];
        memory[k] = now;
    }
}

#include "_simd_rates.h"
#include "_simd_table.h"
#include "_simd_adagrad.h"
#include "_simd_soft.h"
#include "_simd_arcs.h"

static const Simd FN(table) = {
    .name = NAME, .gather = FN(gather), .scatter = FN(scatter), .gather_listed = FN(gather_listed),
    .scatter_listed = FN(scatter_listed), .scatter_present = FN(scatter_present), .exp_rows = FN(exp_rows),
    .forward = FN(forward), .backward = FN(backward), .outer = FN(outer), .viterbi = FN(viterbi), .settle = FN(settle),
    .settle_rows = FN(settle_rows), .dot = FN(dot), .axpy = FN(axpy), .round_to = FN(round_to),
    .add_rounded = FN(add_rounded), .tangent = FN(tangent), .log_sums = FN(log_sums),
    .keep_present = FN(keep_present), .exchange = FN(exchange), .scatter_rated = FN(scatter_rated), .fade = FN(fade),
    .adapt = FN(adapt), .look_up = FN(look_up), .adagrad_sleep = FN(adagrad_sleep), .adagrad_step = FN(adagrad_step),
    .arcs_forward = FN(arcs_forward), .arcs_backward = FN(arcs_backward), .arcs_tangent = FN(arcs_tangent), .log_sum = FN(log_sum),
    .arcs_viterbi = FN(arcs_viterbi), .lanes_forward = FN(lanes_forward), .lanes_backward = FN(lanes_backward),
    .sum_records = FN(sum_records),
    .settle_soft = FN(settle_soft), .soften = FN(soften),
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
