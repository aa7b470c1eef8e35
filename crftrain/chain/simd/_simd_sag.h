/* The loops of _simd.h for SAG: steps that were put off, gradients that are remembered; part of _simd_body.h. */

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
    typedef FN(fvec) F;
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

static void FN(widen)(int64_t rows, int64_t n, int64_t stride, const float *memory, double *x) {
    for (int64_t r = 0; r < rows; r++, memory += n, x += stride) {
        for (int64_t k = n / VW * VW; k < stride; k += VW) STORE(x + k, SPREAD(0.0));
        int64_t k = 0;
        for (; k + VW <= n; k += VW) STORE(x + k, __builtin_convertvector(*(const FN(fvec) *)(memory + k), V));
        if (k && k < n) STORE(x + n - VW, __builtin_convertvector(*(const FN(fvec) *)(memory + n - VW), V));
        else for (; k < n; k++) x[k] = memory[k];
    }
}
