/* The loops of _simd.h for weights under l1; part of _simd_body.h. */

/* x moved towards 0 by c, not past it */
INLINE V FN(soft)(V x, V c) {
    V none = SPREAD(0.0), above = x - c, below = x + c;
    return PICK(GREATER(above, none), above, none) + PICK(GREATER(none, below), below, none);
}

INLINE double FN(soft_one)(double x, double c) { return x > c ? x - c : x < -c ? x + c : 0.0; }

/* Bring near what occurrences further on will need. */
INLINE void FN(fetch_owing)(int64_t k, int64_t split, int64_t end, int LP, const int32_t *attr, const Blocks *v, const Blocks *d,
                            const Owing *owing) {
    if (k + 24 < end) {
        crf_prefetch(owing + attr[k + 24]);
        if (!v->whole) crf_prefetch(v->ptr + attr[k + 24]);
    }
    if (k + 12 >= end) return;
    int64_t next = attr[k + 12];
    if (k + 12 < split)
        for (int j = 0; j < LP; j += 8) {
            crf_prefetch(v->rows + next * v->stride + j);
            crf_prefetch(d->rows + next * v->stride + j);
        }
    else if (!v->whole) {
        crf_prefetch(v->w + v->ptr[next]);
        crf_prefetch(d->w + v->ptr[next]);
        crf_prefetch(v->label + v->ptr[next]);
    }
}

static void FN(settle_soft)(const Occurrences *o, const Blocks *v, const Blocks *d, Owing *owing, double sum, double length,
                            double l1, double l2, int64_t first, int64_t T, int LP) {
    const int64_t end = o->ptr[first + T], stride = v->stride, *const ptr = v->ptr;
    const int32_t *const attr = o->attr, *const label = v->label;
    const double *const d_rows = d->rows, *const d_w = d->w;
    double *const v_rows = v->rows, *const v_w = v->w;
    const int whole = v->whole;
    for (int64_t t = first; t < first + T; t++) {
        int64_t split = o->split[t], to = o->ptr[t + 1];
        for (int64_t k = o->ptr[t]; k < to; k++) {
            FN(fetch_owing)(k, split, end, LP, attr, v, d, owing);
            int64_t a = attr[k];
            Owing *own = owing + a;
            double owed = own->rate * (sum - own->sum), due = own->rate * (length - own->length);
            if (due == 0) continue;
            own->sum = sum, own->length = length;
            double threshold = due * l1, shrink = 1 / (1 + due * l2);
            if (k >= split)
                for (int64_t p = ptr[a]; p < ptr[a + 1]; p++) v_w[p] = shrink * FN(soft_one)(v_w[p] - owed * d_w[p], threshold);
            else if (whole || v->present) {
                double *x = v_rows + a * stride;
                const double *y = d_rows + a * stride;
                uint64_t bits = whole ? ~(uint64_t)0 : v->present[a];
                for (int j = 0; j < LP; j += VW, bits = whole ? bits : bits >> VW)
                    STORE(x + j, (V)((I)(shrink * FN(soft)(LOAD(x + j) - owed * LOAD(y + j), SPREAD(threshold))) & FN(lanes)(bits)));
            } else
                for (int64_t p = ptr[a]; p < ptr[a + 1]; p++) {
                    double *x = v_rows + a * stride + label[p];
                    *x = shrink * FN(soft_one)(*x - owed * d_rows[a * stride + label[p]], threshold);
                }
        }
    }
}

INLINE void FN(pay_number)(double u, double *v, double *q) {
    double before = *v, above = before - (u + *q), below = before + (u - *q);
    *v = (above > 0 ? above : 0.0) + (below < 0 ? below : 0.0);
    *q += *v - before;
}

INLINE void FN(pay_some)(int64_t n, double u, double *v, double *q) {
    const V none = SPREAD(0.0), all = SPREAD(u);
    int64_t i = 0;
    for (; i + VW <= n; i += VW) {
        V before = LOAD(v + i), had = LOAD(q + i), above = before - (all + had), below = before + (all - had);
        V now = PICK(GREATER(above, none), above, none) + PICK(GREATER(none, below), below, none);
        STORE(v + i, now);
        STORE(q + i, had + (now - before));
    }
    for (; i < n; i++) FN(pay_number)(u, v + i, q + i);
}

static void FN(pay_block)(int64_t n, double u, double *v, double *q) { FN(pay_some)(n, u, v, q); }

/* Bring near what the next token has of q: its k-th occurrence. */
INLINE void FN(fetch_paid)(int64_t k, int64_t split, int64_t end, int LP, const int32_t *attr, const Blocks *q) {
    if (k < split)
        for (int j = 0; j < LP; j += 8) crf_prefetch(q->rows + attr[k] * q->stride + j);
    else if (k < end)
        crf_prefetch(q->w + q->ptr[attr[k]]);
}

static void FN(pay)(const Occurrences *o, const Blocks *v, const Blocks *q, double u, int64_t first, int64_t T, int LP) {
    const int64_t stride = v->stride, *const ptr = v->ptr;
    const int32_t *const attr = o->attr;
    for (int64_t t = first; t < first + T; t++) {
        int64_t k = o->ptr[t], split = o->split[t], to = o->ptr[t + 1], ahead = to - k, more = t + 1 < first + T;
        int64_t next_split = more ? o->split[t + 1] : 0, next_to = more ? o->ptr[t + 2] : 0;
        for (; k < to; k++) {
            FN(fetch_paid)(k + ahead, next_split, next_to, LP, attr, q);
            if (k < split)
                FN(pay_some)(LP, u, v->rows + attr[k] * stride, q->rows + attr[k] * stride);
            else
                for (int64_t p = ptr[attr[k]]; p < ptr[attr[k] + 1]; p++) FN(pay_number)(u, v->w + p, q->w + p);
        }
    }
}

static void FN(soften)(int64_t n, double owed, double due, double l1, double l2, const double *rate, const double *d, double *v) {
    for (int64_t i = 0; i < n; i += VW) {
        V r = LOAD(rate + i);
        STORE(v + i, FN(soft)(LOAD(v + i) - owed * r * LOAD(d + i), due * l1 * r) / (1.0 + due * l2 * r));
    }
}
