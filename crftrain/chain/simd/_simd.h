/* The inner loops of the lattice, chosen at import for the CPU at hand.
 *
 * L labels; a row of label scores is padded to LP doubles, the next multiple of 8. Padding is zero in probabilities
 * and means nothing in scores.
 */
#ifndef CRFTRAIN_SIMD_H
#define CRFTRAIN_SIMD_H
#include <stdint.h>

#if defined(__GNUC__)
#define crf_prefetch(p) __builtin_prefetch(p)
#else
#define crf_prefetch(p) ((void)(p))
#endif

/* Attribute occurrences of tokens: ptr[t] .. ptr[t+1], of which those before split[t] are of dense attributes. */
typedef struct {
    const int64_t *ptr, *split;
    const int32_t *attr;
    const double *value; /* NULL: all are 1 */
} Occurrences;

/* Where an attribute's weights (or their gradient) are: a dense one's in a row, a sparse one's at w[ptr[a]:ptr[a+1]]. */
typedef struct {
    double *rows;
    int64_t stride;
    double *w;
    const int64_t *ptr;
    const int32_t *label;
    int whole;               /* every dense block has all L labels */
    const uint64_t *present; /* else bit j of present[a] says that dense attribute a has a weight for label j; NULL if L > 64 */
    double magic;            /* not 0: what scatter adds is rounded first where it is a product, x = (x + magic) - magic */
} Blocks;

/* The weights of the sparse blocks that each sequence meets, one by one; LISTED_AHEAD more follow the last that may be read in vain. */
typedef struct {
    const int64_t *ptr;       /* sequence i has those from ptr[i] to ptr[i + 1] */
    const uint32_t *from;     /* w[from[e]] is a part of */
    const uint32_t *to;       /* psi[to[e]], to = t * LP + label */
    const double *value;      /* NULL: all are 1 */
} Listed;

#define LISTED_AHEAD 32

/* An odd function over [-1, 1]: f(i / entries) and how much more f((i + 1) / entries) is, for i = 0 .. entries. Up to `straight`
 * it is as good as slope x. */
typedef struct {
    const double *pairs;
    double entries, slope, straight;
} Table;

/* Label pairs as a list, of each label and into each label. One that is no arc scores 0 where leaves[i] enters[j], each of them
 * 1 or 0, and is not legal elsewhere. */
typedef struct {
    int64_t n;
    const int64_t *ptr;    /* [L+1] arcs from label i: ptr[i] .. ptr[i+1] */
    const int32_t *to;     /* [n] */
    const int64_t *into;   /* [L+1] arcs into label j: into[j] .. into[j+1] of the two below */
    const int32_t *source; /* [n] */
    const int32_t *number; /* [n] which arc it is */
    const double *leaves, *enters;
    int closed; /* not all of these are 1 */
} Arcs;

/* The arcs of one label after another: row j has those at ptr[j] .. ptr[j + 1] with their other label, in its order. S = M - base,
 * where base is what M is for pairs that are no arcs: base own[j] others[i]. */
typedef struct {
    const int64_t *ptr;
    const int32_t *label;
    const double *S, *M;
    const double *own, *others;
    int closed;
} ArcRows;

#define LANES 8 /* sequences side by side */

typedef struct { /* what a block has paid of steps that end with a soft threshold */
    double sum, length, rate;
} Owing;

typedef struct {
    const char *name;

    /* psi[t] = sum of the blocks of the token's attributes, for T tokens from `first` on */
    void (*gather)(const Occurrences *o, const Blocks *b, int64_t first, int64_t T, int L, int LP, double *psi);

    /* blocks of the token's attributes += q[t] */
    void (*scatter)(const Occurrences *o, const Blocks *b, int64_t first, int64_t T, int L, int LP, const double *q);

    /* the same, the weights of sparse blocks listed: sequence i is the T tokens from `first` on. Padding of psi is any number. */
    void (*gather_listed)(const Occurrences *o, const Blocks *b, const Listed *l, int64_t i, int64_t first, int64_t T, int LP, double *psi);
    void (*scatter_listed)(const Occurrences *o, const Blocks *b, const Listed *l, int64_t i, int64_t first, int64_t T, int LP,
                           const double *q);

    /* scatter, but labels for which a block has no weight stay as they are: for weights, not for sums that are masked later */
    void (*scatter_present)(const Occurrences *o, const Blocks *b, int64_t first, int64_t T, int L, int LP, const double *q);

    /* x = exp(psi - top), top[r] the row's maximum, padding 0; returns the widest spread of a row's scores */
    double (*exp_rows)(int64_t rows, int L, int LP, const double *psi, double *x, double *top);

    /* next = x o (previous M) / z; returns z, the sum before the division */
    double (*forward)(int L, int LP, const double *previous, const double *M, const double *x, double *next);

    /* v = x o b / z;  b_previous = M v (MT is M transposed);  q_previous = a_previous o b_previous */
    void (*backward)(int L, int LP, const double *x, const double *b, double inverse_z, const double *MT,
                     const double *a_previous, double *v, double *b_previous, double *q_previous);

    /* C[i][j] += sum over t of a[t][i] v[t][j], rows of LP */
    void (*outer)(int64_t T, int L, int LP, const double *a, const double *v, double *C);

    /* next[j] = max_i previous[i] + trans[i][j] + psi[j], from[j] the first i that reaches it */
    void (*viterbi)(int L, int LP, const double *previous, const double *trans, const double *psi, double *next, int32_t *from);

    /* Pay what the blocks of T tokens owe: v -= (S - last) d, last = S. Blocks with all L labels are done
     * as whole rows, the others by their bits in `present`, or label by label. */
    void (*settle)(const Occurrences *o, const Blocks *v, const Blocks *d, double *last, double S, int64_t first, int64_t T,
                   int L, int LP);

    /* Pay what whole rows owe, v = beta (v - (S - last) d), last = 0, and copy their L labels to w, row after row.
     * Returns the largest |scale d + l2 v| of all. */
    double (*settle_rows)(int64_t rows, int L, int LP, double *v, const double *d, double *last, double S, double beta, double scale,
                          double l2, double *w);

    /* the dot product of two vectors of n doubles, n a multiple of 8 */
    double (*dot)(int64_t n, const double *x, const double *y);

    /* y += c x over n doubles, n a multiple of 8 */
    void (*axpy)(int64_t n, double c, const double *x, double *y);

    /* out = (c x + magic) - magic over n doubles, n a multiple of 8; the largest |c x|. out may be x. */
    double (*round_to)(int64_t n, double c, double magic, const double *x, double *out);

    /* y += (c x + magic) - magic over n doubles, n a multiple of 8 */
    void (*add_rounded)(int64_t n, double c, double magic, const double *x, double *y);

    /* The tangent of a sequence's marginals, times `scale`; see _tangent.pyx for the letters. In: M and R = M o (tangent of
     * the transitions), both also transposed; a, b, y and r of T rows. Out: q, and C, of LP rows. u, A, B and du
     * are scratch. Up to 3 rows beyond T are read and written. `soon`: n_soon numbers that will be needed next. */
    void (*tangent)(int64_t T, int L, int LP, const double *M, const double *MT, const double *R, const double *RT, const double *a,
                    const double *b, const double *y, const double *r, double scale, double *u, double *A, double *B, double *du,
                    double *q, double *C, const double *soon, int64_t n_soon);

    /* For y = x + c d, taken as 1e-300 where it is less: sums[0] += y.ln y, sums[1] += d.ln y, sums[2] += d.(d / y), over n
     * doubles, n a multiple of 8 */
    void (*log_sums)(int64_t n, const double *x, const double *d, double c, double *sums);

    /* Rows r of LP, those of the attributes attr[r], keep the numbers that `present` names, the others become 0; the sum of squares */
    double (*keep_present)(int64_t rows, int LP, const int32_t *attr, const uint64_t *present, double *x);

    /* memory = x, rounded; x = what that changed */
    void (*exchange)(int64_t n, double *x, float *memory);

    /* x = memory, rows of n made rows of stride, a multiple of 8, with 0 in between */
    void (*widen)(int64_t rows, int64_t n, int64_t stride, const float *memory, double *x);

    /* blocks of the token's attributes += c rate o q[t], rates laid out like the blocks */
    void (*scatter_rated)(const Occurrences *o, const Blocks *b, const Blocks *rate, int64_t first, int64_t T, int LP, double c,
                          const double *q);

    /* out = w o exp(-c rate) over n doubles, 0 <= rate <= most; w and out may be the same */
    void (*fade)(int64_t n, double c, double most, const double *rate, const double *w, double *out);

    /* rate <- rate o (m + u) / (m + kappa + n) over `size` doubles, u = (w - middle) / (middle - start) cut to [-kappa, kappa]; 0/0 = 0 */
    void (*adapt)(int64_t size, double kappa, double m, double n, const double *start, const double *middle, const double *w, double *rate);

    /* g = c f(g) by linear interpolation over n doubles, n a multiple of 8, up to a number beyond 1 or a little less far.
     * Returns how many are done. */
    int64_t (*look_up)(int64_t n, double c, const Table *f, double *g);

    /* AdaGrad over n doubles, s the root of the sum of squares of a weight's gradients, S the soft threshold, alpha = eta / (delta + s):
     * m steps without a gradient, w <- S(w, alpha l1) / (1 + alpha l2) */
    void (*adagrad_sleep)(int64_t n, int64_t m, double eta, double delta, double l2, double l1, double *w, const double *s);

    /* and one with, s <- |(s, g)|, w <- S(w - alpha g, alpha l1) / (1 + alpha l2) */
    void (*adagrad_step)(int64_t n, double eta, double delta, double l2, double l1, double *w, double *s, const double *g);

    /* out[j] = base own[j] total + sum of S p over row j: one step of forward with the arcs into each label. total is the sum of
     * others o p, which is not negative. A sum of nothing but what is not legal is 0, no other is. */
    void (*arcs_forward)(int L, const ArcRows *A, double base, const double *p, double total, double *out);

    /* The same for b = M v with the arcs from each label; q = a o b, and edge[k] += a v of arc k */
    void (*arcs_backward)(int L, const ArcRows *A, double base, const double *v, double total, const double *a, double *b, double *q,
                          double *edge);

    /* tangent with arcs into and out of each label, which adds to C; R = M o (tangents of the arcs' scores), RT the same by the label they lead into */
    void (*arcs_tangent)(int64_t T, int L, int LP, const ArcRows *into, const ArcRows *out, const double *RT, const double *R, double base,
                         const double *a, const double *b, const double *y, const double *r, double scale, double *u, double *A, double *B,
                         double *du, double *q, double *C);

    /* log sum exp over n numbers; -inf if all are, NaN if one is */
    double (*log_sum)(int64_t n, const double *s);

    /* the same, and p = exp(s) over its sum, all 0 if that is 0; p may be s */
    double (*log_shares)(int64_t n, const double *s, double *p);

    /* out[j] = log sum over i of exp(p[i] + e[i][j]), e of L rows of LP */
    void (*log_forward)(int L, int LP, const double *p, const double *e, double *out);

    /* viterbi with trans[k] for the arcs; high[i] is the largest of those from i, or 0. `work` has room for 3 L. */
    void (*arcs_viterbi)(int L, const Arcs *arcs, const double *trans, const double *high, const double *previous, const double *psi,
                         double *next, int32_t *from, int32_t *work);

    /* Eight sequences at once, label j of sequence s at p[j * LANES + s]. next = x o (p M) / z where p sums to 1; z the sums. A lane
     * whose x is 0 is at rest. */
    void (*lanes_forward)(int L, const ArcRows *A, double base, const double *p, const double *x, double *next, double *z);

    /* v = x o b / z;  b <- M v;  edge[k * LANES ...] += a v of arc k;  a <- a o b. A lane at rest has 0 for 1 / z and b = rest = 1. */
    void (*lanes_backward)(int L, const ArcRows *A, double base, const double *x, const double *inverse_z, const double *rest, double *a,
                           double *v, double *b, double *edge);

    /* psi = the sum of n rows of LP floats and m rows of LP doubles */
    void (*sum_records)(int n, const float *const *rows, int m, const double *const *wide, int LP, double *psi);

    /* Settle proximal steps, S the soft threshold: v = S(v - rate owed d, rate due l1) / (1 + rate due l2), owed = sum - its last value,
     * due = length - its last value. */
    void (*settle_soft)(const Occurrences *o, const Blocks *v, const Blocks *d, Owing *owing, double sum, double length, double l1,
                        double l2, int64_t first, int64_t T, int LP);

    /* the same over n weights, n a multiple of 8, with a rate for each */
    void (*soften)(int64_t n, double owed, double due, double l1, double l2, const double *rate, const double *d, double *v);

    /* n weights v of a block pay the cumulative penalty, for u that each could have paid in all and q that it has:
     * v' = max(v - (u + q), 0) + min(v + (u - q), 0), q += v' - v. Where q is NaN v' = 0. */
    void (*pay_block)(int64_t n, double u, double *v, double *q);

    /* the same for the blocks of T tokens; a block that comes twice has paid */
    void (*pay)(const Occurrences *o, const Blocks *v, const Blocks *q, double u, int64_t first, int64_t T, int LP);
} Simd;

/* base, v3 (AVX2 and FMA) or v4 (AVX-512); "" picks the best one. NULL where the CPU lacks what was wished for. */
const Simd *crftrain_simd(const char *wish);

#endif
