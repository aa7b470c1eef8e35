/* The loop of _simd.h for products with the Hessian, and products of small matrices; part of _simd_body.h. */

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
