/* The loops of _simd.h between blocks and positions, gather and scatter; part of _simd_body.h. */

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
