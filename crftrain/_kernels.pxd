"""All mathematics of one sequence: gather, forward-backward, Viterbi, scatter."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uintptr_t


cdef extern from "_simd.h":     # where each of them is explained
    ctypedef struct Occurrences:
        const int64_t* ptr
        const int64_t* split
        const int32_t* attr
        const double* value

    ctypedef struct Blocks:
        double* rows
        int64_t stride
        double* w
        const int64_t* ptr
        const int32_t* label
        int whole
        const uint64_t* present
        double magic

    ctypedef struct Listed:
        const int64_t* ptr
        const uint32_t* from_ "from"
        const uint32_t* to
        const double* value

    enum: LISTED_AHEAD

    ctypedef struct Table:
        const double* pairs
        double entries, slope
        double straight

    ctypedef struct Arcs:
        int64_t n
        const int64_t* ptr
        const int32_t* to
        const int64_t* into
        const int32_t* source
        const int32_t* number
        const double* leaves
        const double* enters
        int closed

    ctypedef struct ArcRows:
        const int64_t* ptr
        const int32_t* label
        const double* S
        const double* M
        const double* own
        const double* others
        int closed

    ctypedef struct Owing:
        double sum, length, rate

    enum: LANES

    ctypedef struct Simd:
        const char* name
        void gather(const Occurrences*, const Blocks*, int64_t first, int64_t T, int L, int LP, double* psi) noexcept nogil
        void scatter(const Occurrences*, const Blocks*, int64_t first, int64_t T, int L, int LP, const double* q) noexcept nogil
        void gather_listed(const Occurrences*, const Blocks*, const Listed*, int64_t i, int64_t first, int64_t T, int LP,
                           double* psi) noexcept nogil
        void scatter_listed(const Occurrences*, const Blocks*, const Listed*, int64_t i, int64_t first, int64_t T, int LP,
                            const double* q) noexcept nogil
        void scatter_present(const Occurrences*, const Blocks*, int64_t first, int64_t T, int L, int LP, const double* q) noexcept nogil
        double exp_rows(int64_t rows, int L, int LP, const double* psi, double* x, double* top) noexcept nogil
        double forward(int L, int LP, const double* previous, const double* M, const double* x, double* next) noexcept nogil
        void backward(int L, int LP, const double* x, const double* b, double inverse_z, const double* MT, const double* a_previous,
                      double* v, double* b_previous, double* q_previous) noexcept nogil
        void outer(int64_t T, int L, int LP, const double* a, const double* v, double* C) noexcept nogil
        void viterbi(int L, int LP, const double* previous, const double* trans, const double* psi, double* next,
                     int32_t* come_from) noexcept nogil
        void settle(const Occurrences*, const Blocks* v, const Blocks* d, double* last, double S, int64_t first, int64_t T, int L,
                    int LP) noexcept nogil
        double settle_rows(int64_t rows, int L, int LP, double* v, const double* d, double* last, double S, double beta, double scale,
                           double l2, double* w) noexcept nogil
        double dot(int64_t n, const double* x, const double* y) noexcept nogil
        void axpy(int64_t n, double c, const double* x, double* y) noexcept nogil
        double round_to(int64_t n, double c, double magic, const double* x, double* out) noexcept nogil
        void add_rounded(int64_t n, double c, double magic, const double* x, double* y) noexcept nogil
        void tangent(int64_t T, int L, int LP, const double* M, const double* MT, const double* R, const double* RT, const double* a,
                     const double* b, const double* y, const double* r, double scale, double* u, double* A, double* B, double* du,
                     double* q, double* C, const double* soon, int64_t n_soon) noexcept nogil
        void log_sums(int64_t n, const double* x, const double* d, double c, double* sums) noexcept nogil
        double keep_present(int64_t rows, int LP, const int32_t* attr, const uint64_t* present, double* x) noexcept nogil
        void exchange(int64_t n, double* x, float* memory) noexcept nogil
        void widen(int64_t rows, int64_t n, int64_t stride, const float* memory, double* x) noexcept nogil
        void scatter_rated(const Occurrences*, const Blocks*, const Blocks* rate, int64_t first, int64_t T, int LP, double c,
                           const double* q) noexcept nogil
        void fade(int64_t n, double c, double most, const double* rate, const double* w, double* out) noexcept nogil
        void adapt(int64_t size, double kappa, double m, double n, const double* start, const double* middle, const double* w,
                   double* rate) noexcept nogil
        int64_t look_up(int64_t n, double c, const Table* f, double* g) noexcept nogil
        void adagrad_sleep(int64_t n, int64_t m, double eta, double delta, double l2, double l1, double* w, const double* s) noexcept nogil
        void adagrad_step(int64_t n, double eta, double delta, double l2, double l1, double* w, double* s, const double* g) noexcept nogil

        void arcs_forward(int L, const ArcRows*, double base, const double* p, double total, double* out) noexcept nogil
        void arcs_backward(int L, const ArcRows*, double base, const double* v, double total, const double* a, double* b, double* q,
                           double* edge) noexcept nogil
        void arcs_tangent(int64_t T, int L, int LP, const ArcRows* into, const ArcRows* out, const double* RT, const double* R, double base,
                          const double* a, const double* b, const double* y, const double* r, double scale, double* u, double* A, double* B,
                          double* du, double* q, double* C) noexcept nogil
        double log_sum(int64_t n, const double* s) noexcept nogil
        double log_shares(int64_t n, const double* s, double* p) noexcept nogil
        void log_forward(int L, int LP, const double* p, const double* e, double* out) noexcept nogil
        void arcs_viterbi(int L, const Arcs*, const double* trans, const double* high, const double* previous, const double* psi,
                          double* next, int32_t* come_from, int32_t* work) noexcept nogil
        void lanes_forward(int L, const ArcRows*, double base, const double* p, const double* x, double* next, double* z) noexcept nogil
        void lanes_backward(int L, const ArcRows*, double base, const double* x, const double* inverse_z, const double* rest, double* a,
                            double* v, double* b, double* edge) noexcept nogil
        void sum_records(int n, const float** rows, int m, const double** wide, int LP, double* psi) noexcept nogil
        void settle_soft(const Occurrences*, const Blocks* v, const Blocks* d, Owing*, double sum, double length, double l1, double l2,
                         int64_t first, int64_t T, int LP) noexcept nogil
        void soften(int64_t n, double owed, double due, double l1, double l2, const double* rate, const double* d, double* v) noexcept nogil
        void pay_block(int64_t n, double u, double* v, double* q) noexcept nogil
        void pay(const Occurrences*, const Blocks* v, const Blocks* q, double u, int64_t first, int64_t T, int LP) noexcept nogil

    const Simd* crftrain_simd(const char* wish)


cdef const Simd* simd                   # the loops for this CPU


cdef struct Tokens:                     # an encoded corpus
    const int64_t* seq                  # [n+1] first token of each sequence
    const int32_t* label                # [tokens] gold labels
    Occurrences nodes
    Occurrences distinct                # of nodes, at least one of each attribute of a sequence
    Occurrences pairs                   # attributes of label pairs (t-1, t); ptr NULL: there are none
    Listed listed                       # what sparse blocks say of nodes; ptr NULL: they are looked up


cdef struct Weights:                    # what a weight vector says to a lattice
    int L, LP
    const Arcs* arcs                    # NULL: pair (i, j) has place i * LP + j; else arc k has place k, and place n is all other pairs'
    int64_t places                      # a multiple of 8
    Blocks nodes
    Blocks pairs                        # label[p] is i * L + j
    double* trans                       # [places] score of a label pair, 0 where it has no weight
    double* M                           # [places] exp(trans - shift)
    double* MT                          # [places] M transposed; of arcs: by the label they lead into
    double* S                           # arcs: M - base, base = exp(0 - shift)
    double* ST
    double base
    double shift
    bint tame                           # the spread of trans allows the scaled recursions
    const double* ends                  # [2][LP] 0, or -inf for labels that may not begin, or end, a sequence; NULL: all may
    bint limited                        # some pairs are not legal: trans -inf, M 0


cdef struct Lattice:                    # one sequence's workspace, T positions
    int L, LP
    const Arcs* arcs                    # as in Weights
    int64_t places
    double* memory                      # one piece for all the arrays below but edge
    int64_t capacity                    # positions there is room for
    double* psi                         # [T][LP] node scores
    double* x                           # [T][LP] exp(psi - top)
    double* top                         # [T]
    double* a                           # [T][LP] forward vectors, each sums to 1 (log domain: their logarithms)
    double* b                           # [T][LP] backward vectors, a.b = 1
    double* v                           # [T][LP] x b / z
    double* z                           # [T] sums that a was divided by
    double* q                           # [T][LP] P(y_t = j | x), later minus gold
    double* edge                        # [places] sum_t P(y_{t-1} = i, y_t = j | x), later minus gold
    int64_t pair_capacity               # positions there is room for below; 0 without pair attributes
    double* e                           # [T][L][LP] scores of label pairs, position by position
    double* P                           # [T][L][LP] exp(e - shift), then P(y_{t-1} = i, y_t = j | x)
    double* e_top                       # [T]
    int32_t* come_from                  # [T][LP] Viterbi's back pointers
    bint scaled                         # the last forward pass worked on probabilities, not on logarithms
    double log_z


# In the order of use. Functions that can run out of memory or of floating point return a status or NaN.
cdef Lattice* lattice_new(int L, const Arcs* arcs) noexcept nogil
cdef void lattice_free(Lattice* X) noexcept nogil
cdef bint lattice_fit(Lattice* X, int64_t T, bint pairs) noexcept nogil                 # False: no memory
cdef void gather(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil
cdef void gather_nodes(const Tokens* s, const Blocks* nodes, int64_t i, int L, int LP, double* psi) noexcept nogil
cdef double forward(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil        # log Z
cdef void close_ends(const Weights* W, int64_t T, Lattice* X) noexcept nogil           # psi of labels that may not be there is -inf
cdef bint tame_nodes(const Weights* W, int64_t T, Lattice* X, bint* limited) noexcept nogil     # x, top; whether they do without logs
cdef bint reached(int64_t n, int64_t step, double* x, const double* next) noexcept nogil
cdef ArcRows arcs_into(const Weights* W) noexcept nogil
cdef ArcRows arcs_from(const Weights* W) noexcept nogil
cdef void backward(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil         # q, edge, P
cdef double step_ahead(const Weights* W, int64_t t, Lattice* X) noexcept nogil          # steps of forward and backward, one position each
cdef void at_the_end(int64_t T, Lattice* X) noexcept nogil
cdef void step_back(const Weights* W, int64_t t, Lattice* X) noexcept nogil
cdef void sum_pairs(const Weights* W, int64_t T, Lattice* X) noexcept nogil
cdef void log_ahead(const Weights* W, const double* e, int64_t t, Lattice* X) noexcept nogil         # and of logarithms
cdef void log_at_the_end(int64_t T, Lattice* X) noexcept nogil
cdef void log_back(const Weights* W, const double* e, int64_t t, Lattice* X, double* P) noexcept nogil
cdef void log_pairs_of(const Weights* W, int64_t t, int64_t i, const Lattice* X, double* p) noexcept nogil
cdef void fill_pairs(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil       # P - gold, whatever the corpus has
cdef double path_score(const Weights* W, const Tokens* s, int64_t i, const Lattice* X, const int32_t* y) noexcept nogil
cdef void minus_gold(const Tokens* s, int64_t i, Lattice* X) noexcept nogil             # q, edge, P -= those of the gold labels
cdef double round_residual(Lattice* X, int64_t T, bint pairs, double scale, double magic) noexcept nogil
cdef double loss(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil           # -log p(y_i | x_i)
cdef double loss_and_residual(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil
cdef double viterbi(const Weights* W, const Tokens* s, int64_t i, Lattice* X, int32_t* y) noexcept nogil
cdef int padded_labels(int L) noexcept nogil
cdef int64_t n_places(int L, const Arcs* arcs) noexcept nogil
cdef int64_t tokens_between_signals(int L) noexcept nogil
cdef void scatter_nodes(const Tokens* s, const Blocks* nodes, int64_t i, int L, int LP, const double* q) noexcept nogil
cdef void set_transitions(Weights* W) noexcept nogil
cdef void scatter_pairs(const Tokens* s, const Blocks* pairs, int64_t first, int64_t T, const Lattice* X) noexcept nogil
cdef void gather_pairs(const Weights* W, const Tokens* s, int64_t first, int64_t T, double* e) noexcept nogil


cdef inline int64_t place(const Arcs* arcs, int LP, int32_t i, int32_t j) noexcept nogil:
    """Where the numbers of label pair (i, j) are."""
    cdef int64_t low, high, middle
    if arcs == NULL:
        return i * LP + j
    low, high = arcs.ptr[i], arcs.ptr[i + 1]
    while low < high:
        middle = (low + high) >> 1
        if arcs.to[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low if low < arcs.ptr[i + 1] and arcs.to[low] == j else arcs.n
