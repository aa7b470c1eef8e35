/* Label pairs as a list, see _simd.h: loops in the number of labels and arcs, included by _simd_body.h.
 *
 *     out_j = sum_i M_ij p_i = base sum_i p_i + sum over the arcs (i, j) of S_ij p_i          S = M - base
 *
 * Where rules say what is legal, a pair that is no arc has M_ij = base leaves_i enters_j, of ones and zeros, instead of base. After any
 * label but I-X only few are legal of those inside X: such a label has enters = 0, and what is legal there is an arc.
 *
 * Where arcs of small M carry nearly all of p, the two terms cancel: such a row, less than CANCELLED of its first term, is summed
 * again over all labels, each term positive. What is kept has lost 8 bits at most.
 */

#define CANCELLED (1.0 / 256)

/* Row j, every term of it positive. */
static double FN(whole_row)(int L, const ArcRows *A, int j, double base, const double *p, int64_t stride) {
    double off = 0, on = 0;
    int64_t k = A->ptr[j], end = A->ptr[j + 1];
    for (int i = 0; i < L; i++) {
        double x = p[i * stride];
        if (k < end && A->label[k] == i) on += A->M[k++] * x;
        else off += A->others[i] * x;
    }
    return base * A->own[j] * off + on;
}

static void FN(arcs_forward)(int L, const ArcRows *A, double base, const double *p, double total, double *out) {
    const int64_t *const ptr = A->ptr;
    const int32_t *const label = A->label;
    const double *const S = A->S;
    for (int j = 0; j < L; j++) {
        const double first = base * total * A->own[j], least = CANCELLED * first;
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        int64_t k = ptr[j], end = ptr[j + 1];
        for (; k + 4 <= end; k += 4) {
            s0 += S[k] * p[label[k]];
            s1 += S[k + 1] * p[label[k + 1]];
            s2 += S[k + 2] * p[label[k + 2]];
            s3 += S[k + 3] * p[label[k + 3]];
        }
        for (; k < end; k++) s0 += S[k] * p[label[k]];
        double sum = first + ((s0 + s1) + (s2 + s3));
        out[j] = sum >= least ? sum : FN(whole_row)(L, A, j, base, p, 1);
    }
}

static void FN(arcs_backward)(int L, const ArcRows *A, double base, const double *v, double total, const double *a, double *b, double *q,
                              double *edge) {
    const int64_t *const ptr = A->ptr;
    const int32_t *const label = A->label;
    const double *const S = A->S;
    for (int i = 0; i < L; i++) {
        const double first = base * total * A->own[i], least = CANCELLED * first;
        const double c = a[i];
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        int64_t k = ptr[i], end = ptr[i + 1];
        for (; k + 4 <= end; k += 4) {
            double v0 = v[label[k]], v1 = v[label[k + 1]], v2 = v[label[k + 2]], v3 = v[label[k + 3]];
            s0 += S[k] * v0;
            s1 += S[k + 1] * v1;
            s2 += S[k + 2] * v2;
            s3 += S[k + 3] * v3;
            edge[k] += c * v0;
            edge[k + 1] += c * v1;
            edge[k + 2] += c * v2;
            edge[k + 3] += c * v3;
        }
        for (; k < end; k++) {
            s0 += S[k] * v[label[k]];
            edge[k] += c * v[label[k]];
        }
        double sum = first + ((s0 + s1) + (s2 + s3));
        b[i] = sum >= least ? sum : FN(whole_row)(L, A, i, base, v, 1);
        q[i] = c * b[i];
    }
}

/* sum over row j of S x + R y, and base times the sum of x; where S cancels, every term of M by itself */
INLINE double FN(tangent_row)(int L, const ArcRows *A, const double *R, int j, double base, int cancels, double total, const double *x,
                              const double *y) {
    double s = 0, r = 0;
    int64_t k = A->ptr[j], end = A->ptr[j + 1];
    if (cancels) {
        for (int64_t p = k; p < end; p++) r += R[p] * y[A->label[p]];
        return FN(whole_row)(L, A, j, base, x, 1) + r;
    }
    for (; k < end; k++) {
        s += A->S[k] * x[A->label[k]];
        r += R[k] * y[A->label[k]];
    }
    return base * A->own[j] * total + s + r;
}

/* what pairs that are no arcs see of p */
INLINE double FN(seen)(int L, const ArcRows *A, const double *p) {
    double sum = 0;
    for (int i = 0; i < L; i++) sum += A->others[i] * p[i];
    return sum;
}

/* A, the derivatives of the forward vectors, from the left; B is scratch */
INLINE void FN(arcs_tangent_forward)(int64_t end, int L, int LP, const ArcRows *into, const double *RT, double base, const double *a,
                                     const double *y, const double *r, double scale, double *A, double *B) {
    double E = 0;
    for (int j = 0; j < LP; j++) A[j] = a[j] * (scale * r[j]);
    for (int64_t now = LP; now < end; now += LP) {
        const double *before = A + now - LP;
        const double total = FN(seen)(L, into, before), mass = into->closed ? FN(seen)(L, into, a + now - LP) : 1;
        for (int j = 0; j < L; j++) B[j] = scale * a[now - LP + j];
        for (int j = 0; j < L; j++) {
            int cancels = a[now + j] < CANCELLED * base * into->own[j] * mass * y[now + j];
            double sum = FN(tangent_row)(L, into, RT, j, base, cancels, total, before, B);
            A[now + j] = a[now + j] * (scale * r[now + j]) + y[now + j] * sum;
        }
        for (int j = L; j < LP; j++) A[now + j] = 0;
    }
    for (int j = 0; j < L; j++) E += A[end - LP + j];
    for (int64_t k = 0; k < end; k++) A[k] -= E * a[k];
}

/* B and du, those of the backward vectors, from the right, and with them C, the sum over arcs */
INLINE void FN(arcs_tangent_backward)(int64_t last, int L, int LP, const ArcRows *out, const double *R, double base, const double *a,
                                      const double *b, const double *y, const double *r, double scale, const double *u, const double *A,
                                      double *B, double *du, double *C) {
    for (int j = 0; j < LP; j++) {
        B[last + j] = 0;
        du[last + j] = u[last + j] * (scale * r[last + j]);
    }
    for (int64_t now = last; now > 0; now -= LP) {
        const double *du_now = du + now, *u_now = u + now;
        const int64_t before = now - LP;
        const double total = FN(seen)(L, out, du_now), mass = FN(seen)(L, out, u_now);
        for (int i = 0; i < L; i++) {
            const double c = A[before + i], d = a[before + i];
            double s = 0, t = 0;
            for (int64_t k = out->ptr[i]; k < out->ptr[i + 1]; k++) {
                double v = u_now[out->label[k]], dv = du_now[out->label[k]];
                s += out->S[k] * dv;
                t += R[k] * v;
                C[k] += c * v + d * dv;
            }
            int cancels = b[before + i] < CANCELLED * base * out->own[i] * mass;
            s = cancels ? FN(whole_row)(L, out, i, base, du_now, 1) : base * out->own[i] * total + s;
            B[before + i] = s + scale * t;
        }
        for (int i = 0; i < LP; i++) {
            if (i >= L) B[before + i] = 0;
            du[before + i] = u[before + i] * (scale * r[before + i]) + y[before + i] * B[before + i];
        }
    }
}

static void FN(arcs_tangent)(int64_t T, int L, int LP, const ArcRows *into, const ArcRows *out, const double *RT, const double *R,
                             double base, const double *a, const double *b, const double *y, const double *r, double scale, double *u,
                             double *A, double *B, double *du, double *q, double *C) {
    const int64_t end = T * LP;
    for (int64_t k = 0; k < end; k++) u[k] = y[k] * b[k];
    FN(arcs_tangent_forward)(end, L, LP, into, RT, base, a, y, r, scale, A, B);
    FN(arcs_tangent_backward)(end - LP, L, LP, out, R, base, a, b, y, r, scale, u, A, B, du, C);
    for (int64_t k = 0; k < end; k++) q[k] = A[k] * b[k] + a[k] * B[k];
}

/* The best label before j among those with an arc to it */
static void FN(best_arc)(const Arcs *A, int j, const double *trans, const double *previous, double *next, int32_t *from) {
    next[j] = -INFINITY, from[j] = 0;
    for (int64_t k = A->into[j]; k < A->into[j + 1]; k++) {
        const double score = previous[A->source[k]] + trans[A->number[k]];
        if (score > next[j]) next[j] = score, from[j] = A->source[k];
    }
}

/* The best label before each of the n open ones among those that are alive, leave and have no arc to it: in the order of `previous`
 * from `before` on, which has an arc to them all, the lower label first, whoever is the first without one. */
static void FN(best_without_arc)(const Arcs *arcs, const double *previous, int before, const int32_t *alive, int n_alive, int32_t *open,
                                 int n, int32_t *stamp, double *next, int32_t *from) {
    while (n) {
        int best = -1, kept = 0;
        for (int k = 0; k < n_alive; k++) {
            int i = alive[k];
            int later = previous[i] < previous[before] || (previous[i] == previous[before] && i > before);
            if (later && arcs->leaves[i] && (best < 0 || previous[i] > previous[best])) best = i;
        }
        if (best < 0) return;
        for (int64_t k = arcs->ptr[best]; k < arcs->ptr[best + 1]; k++) stamp[arcs->to[k]] = best;
        for (int k = 0; k < n; k++) {
            int j = open[k];
            if (stamp[j] == best) open[kept++] = j;
            else next[j] = previous[best], from[j] = best;
        }
        n = kept;
        before = best;
    }
}

/* The best label before each. Of labels without an arc to j the best is the first of those that leave in the order of `previous`, or
 * the first that has no arc to j. A label that even its best arc does not lift to what the best label reaches by its worst can be left
 * out. Labels that are entered by arcs alone are done before. */
static void FN(arcs_viterbi)(int L, const Arcs *arcs, const double *trans, const double *high, const double *previous, const double *psi,
                             double *next, int32_t *from, int32_t *work) {
    const int64_t *const ptr = arcs->ptr;
    const int32_t *const label = arcs->to;
    const double *const enters = arcs->enters;
    int32_t *const open = work, *const alive = work + L, *const stamp = work + 2 * (int64_t)L;
    int top = -1, n_open = 0, n_alive = 0;
    for (int i = 0; i < L; i++)
        if (arcs->leaves[i] && (top < 0 || previous[i] > previous[top])) top = i;
    double low = 0;
    for (int j = 0; j < L; j++) {
        stamp[j] = -1;
        if (top >= 0 && enters[j]) next[j] = previous[top], from[j] = top;
        else FN(best_arc)(arcs, j, trans, previous, next, from);
    }
    for (int64_t k = top < 0 ? 0 : ptr[top]; k < (top < 0 ? 0 : ptr[top + 1]); k++) {
        if (!enters[label[k]]) continue;
        if (trans[k] < low) low = trans[k];
        open[n_open++] = label[k];
        next[label[k]] = -INFINITY;
        from[label[k]] = L;
    }
    const double least = top < 0 ? INFINITY : previous[top] + low;
    for (int i = 0; i < L; i++)
        if (!(previous[i] + high[i] < least)) alive[n_alive++] = i;
    FN(best_without_arc)(arcs, previous, top, alive, n_alive, open, n_open, stamp, next, from);
    for (int a = 0; a < n_alive; a++) {
        const int i = alive[a];
        const double reached = previous[i];
        for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) {
            const int j = label[k];
            const double score = reached + trans[k];
            if (score > next[j] || (score == next[j] && i < from[j])) next[j] = score, from[j] = i;
        }
    }
    for (int j = 0; j < L; j++) {
        next[j] += psi[j];
        if (from[j] == L) from[j] = 0; /* there is no way */
    }
}

/* ---- eight sequences side by side: numbers of label j in p[j * LANES ...] ------------------------------------------ */

#define GROUP (LANES / VW) /* vectors for a label */

INLINE int FN(any_below)(const V *x, const V *least) {
    I low = (I){0};
    UNROLL for (int g = 0; g < GROUP; g++) low |= GREATER(least[g], x[g]);
    int64_t any = 0;
    for (int i = 0; i < VW; i++) any |= low[i];
    return any != 0;
}

INLINE void FN(whole_rows)(int L, const ArcRows *A, int j, double base, const double *p, V *out) {
    for (int g = 0; g < GROUP; g++)
        for (int i = 0; i < VW; i++) out[g][i] = FN(whole_row)(L, A, j, base, p + g * VW + i, LANES);
}

/* x / z for L labels; a lane that is at rest, z = 0, stays 0 */
INLINE void FN(divide)(int L, const double *z, double *x) {
    V inverse[GROUP];
    UNROLL for (int g = 0; g < GROUP; g++) {
        V total = LOAD(z + g * VW);
        inverse[g] = 1.0 / PICK((I)(total != 0), total, SPREAD(1.0));
    }
    for (int j = 0; j < L; j++)
        UNROLL for (int g = 0; g < GROUP; g++) {
            double *y = x + j * LANES + g * VW;
            STORE(y, LOAD(y) * inverse[g]);
        }
}

static void FN(lanes_forward)(int L, const ArcRows *A, double base, const double *p, const double *x, double *next, double *z) {
    const int64_t *const ptr = A->ptr;
    const int32_t *const label = A->label;
    const double *const S = A->S;
    V first[GROUP], total[GROUP];
    UNROLL for (int g = 0; g < GROUP; g++) {
        first[g] = SPREAD(A->closed ? 0.0 : base);
        total[g] = SPREAD(0.0);
    }
    for (int i = 0; A->closed && i < L; i++)
        UNROLL for (int g = 0; g < GROUP; g++) first[g] += SPREAD(base * A->others[i]) * LOAD(p + i * LANES + g * VW);
    for (int j = 0; j < L; j++) {
        V even[GROUP], odd[GROUP], least[GROUP];
        UNROLL for (int g = 0; g < GROUP; g++) {
            even[g] = first[g] * SPREAD(A->own[j]), odd[g] = SPREAD(0.0);
            least[g] = CANCELLED * even[g];
        }
        int64_t k = ptr[j], end = ptr[j + 1];
        for (; k + 2 <= end; k += 2) {
            const double *row = p + (int64_t)label[k] * LANES, *other = p + (int64_t)label[k + 1] * LANES;
            V c = SPREAD(S[k]), d = SPREAD(S[k + 1]);
            UNROLL for (int g = 0; g < GROUP; g++) {
                even[g] += c * LOAD(row + g * VW);
                odd[g] += d * LOAD(other + g * VW);
            }
        }
        if (k < end) {
            const double *row = p + (int64_t)label[k] * LANES;
            V c = SPREAD(S[k]);
            UNROLL for (int g = 0; g < GROUP; g++) even[g] += c * LOAD(row + g * VW);
        }
        UNROLL for (int g = 0; g < GROUP; g++) even[g] += odd[g];
        if (FN(any_below)(even, least)) FN(whole_rows)(L, A, j, base, p, even);
        UNROLL for (int g = 0; g < GROUP; g++) {
            V y = even[g] * LOAD(x + j * LANES + g * VW);
            STORE(next + j * LANES + g * VW, y);
            total[g] += y;
        }
    }
    UNROLL for (int g = 0; g < GROUP; g++) STORE(z + g * VW, total[g]);
    FN(divide)(L, z, next);
}

static void FN(lanes_backward)(int L, const ArcRows *A, double base, const double *x, const double *inverse_z, const double *rest, double *a,
                               double *v, double *b, double *edge) {
    const int64_t *const ptr = A->ptr;
    const int32_t *const label = A->label;
    const double *const S = A->S;
    V first[GROUP];
    UNROLL for (int g = 0; g < GROUP; g++) first[g] = SPREAD(0.0);
    for (int j = 0; j < L; j++)
        UNROLL for (int g = 0; g < GROUP; g++) {
            int64_t at = j * LANES + g * VW;
            V y = LOAD(x + at) * LOAD(b + at) * LOAD(inverse_z + g * VW);
            STORE(v + at, y);
            first[g] += y * SPREAD(A->others[j]);
        }
    UNROLL for (int g = 0; g < GROUP; g++) first[g] *= base;
    for (int i = 0; i < L; i++) {
        V c[GROUP], even[GROUP], least[GROUP];
        UNROLL for (int g = 0; g < GROUP; g++) {
            c[g] = LOAD(a + i * LANES + g * VW);
            even[g] = first[g] * SPREAD(A->own[i]);
            least[g] = CANCELLED * even[g];
        }
        for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) {
            const double *row = v + (int64_t)label[k] * LANES;
            double *sum = edge + k * LANES;
            V s = SPREAD(S[k]);
            UNROLL for (int g = 0; g < GROUP; g++) {
                V y = LOAD(row + g * VW);
                even[g] += s * y;
                STORE(sum + g * VW, LOAD(sum + g * VW) + c[g] * y);
            }
        }
        if (FN(any_below)(even, least)) FN(whole_rows)(L, A, i, base, v, even);
        UNROLL for (int g = 0; g < GROUP; g++) {
            even[g] += LOAD(rest + g * VW);
            STORE(b + i * LANES + g * VW, even[g]);
            STORE(a + i * LANES + g * VW, c[g] * even[g]);
        }
    }
}

#undef GROUP
