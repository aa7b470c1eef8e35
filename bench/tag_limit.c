/* The yardstick of tagging: what hand-written C reaches on this machine when no text is read or written.

   usage: tag_limit FILE TIMES      FILE: word, part of speech and what not, by spaces, a blank line after each sentence

   The words are cut beforehand. Timed is, for each sentence, TIMES over: four lookups a token (word and part of speech by their texts, the
   pair of words and the run of parts of speech by numbers), the float32 rows of CRF++'s chunking template asked for ahead and 19 of
   them added, Viterbi over 22 labels. Rows are random: speed does not depend on them. It prints {"tokens_per_s": N}, the best of five.
   It is a yardstick, not a model of style: fixed sizes, no error handling. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define L 22
#define LP 24
#define MOST 4096                       /* tokens of a sentence */
enum { WORD, CLASS, WORDS, CLASSES, KINDS };
static const int ROWS[KINDS] = {5, 5, 2, 7};            /* of a record: one for each place from which a template line sees it */
typedef struct { const char *text; int length; } Cell;
typedef struct { uint64_t *key; const char **text; int *id, mask, n; } Table;

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }

static Table table(int size) { return (Table) {calloc(size, 8), calloc(size, sizeof(char *)), calloc(size, 4), size - 1, 0}; }

static inline uint64_t mixed(uint64_t h) { h *= 0x9E3779B97F4A7C15ULL; return h ^ h >> 32; }

/* The number of a key, and of a text where there is one; 0 is a new one's key. */
static inline int number(Table *t, uint64_t key, const char *text, int length)
{
    uint64_t i = key & t->mask;
    while (t->key[i]) {
        if (t->key[i] == key && (!text || !memcmp(t->text[i], text, length))) return t->id[i];
        i = (i + 1) & t->mask;
    }
    t->key[i] = key, t->text[i] = text, t->id[i] = t->n;
    return t->n++;
}

static inline uint64_t hash(const char *p, int n)
{
    uint64_t h = mixed(n + 1), w;
    for (; n > 0; p += 8, n -= 8) {
        memcpy(&w, p, 8);
        if (n < 8) w &= (1ULL << 8 * n) - 1;
        h = mixed(h ^ w);
    }
    return h | 1;
}

static Table tables[KINDS];
static float *rows[KINDS], trans[L][LP], psi[MOST][LP];
static int ids[KINDS][MOST + 8], back[MOST][LP];

static void find(const Cell *cells, int T)
{
    for (int t = 0; t < T; t++) {       /* two numbers before the sentence and behind it are those of no token */
        ids[WORD][t + 2] = number(&tables[WORD], hash(cells[2 * t].text, cells[2 * t].length), cells[2 * t].text, cells[2 * t].length);
        ids[CLASS][t + 2] = number(&tables[CLASS], hash(cells[2 * t + 1].text, cells[2 * t + 1].length), cells[2 * t + 1].text, cells[2 * t + 1].length);
    }
    for (int k = 0; k < 2; k++) ids[k][0] = ids[k][1] = ids[k][T + 2] = ids[k][T + 3] = 0;
    for (int t = 0; t <= T + 2; t++) {
        const int *w = ids[WORD] + t, *c = ids[CLASS] + t;
        ids[WORDS][t] = number(&tables[WORDS], mixed((uint64_t) w[0] << 32 | w[1]) | 1, NULL, 0);
        ids[CLASSES][t] = number(&tables[CLASSES], mixed((uint64_t) c[0] << 40 | (uint64_t) c[1] << 20 | c[t <= T + 1 ? 2 : 1]) | 1, NULL, 0);
        for (int k = 0; k < KINDS; k++)
            for (int b = 0; b < ROWS[k] * LP; b += 16) __builtin_prefetch(rows[k] + (size_t) ids[k][t] * ROWS[k] * LP + b);
    }
}

static inline const float *row(int kind, int t, int k) { return rows[kind] + ((size_t) ids[kind][t] * ROWS[kind] + k) * LP; }

static void score(int T)
{
    for (int t = 0; t < T; t++) {
        const float *r[19];
        int n = 0;
        for (int k = 0; k < 5; k++) r[n++] = row(WORD, t + k, k), r[n++] = row(CLASS, t + k, k);
        for (int k = 0; k < 2; k++) r[n++] = row(WORDS, t + 1 + k, k);
        for (int k = 0; k < 3; k++) r[n++] = row(CLASSES, t + k, k), r[n++] = row(CLASSES, t + k, 3 + k);
        r[n++] = row(CLASSES, t + 3, 6);
        float sum[LP] = {0};
        for (int k = 0; k < 19; k++)
            for (int j = 0; j < LP; j++) sum[j] += r[k][j];
        memcpy(psi[t], sum, sizeof(sum));
    }
}

static int viterbi(int T)
{
    float a[LP], next[LP];
    memcpy(a, psi[0], sizeof(a));
    for (int t = 1; t < T; t++) {
        for (int j = 0; j < LP; j++) next[j] = -1e30f, back[t][j] = 0;
        for (int i = 0; i < L; i++)
            for (int j = 0; j < LP; j++) {
                float s = a[i] + trans[i][j];
                back[t][j] = s > next[j] ? i : back[t][j];
                next[j] = s > next[j] ? s : next[j];
            }
        for (int j = 0; j < LP; j++) a[j] = next[j] + psi[t][j];
    }
    int best = 0, sum;
    for (int j = 1; j < L; j++) best = a[j] > a[best] ? j : best;
    sum = best;
    for (int t = T - 1; t > 0; t--) sum += best = back[t][best];
    return sum;
}

int main(int argc, char **argv)
{
    FILE *file = fopen(argv[1], "rb");
    static char text[1 << 26], *end;
    end = text + fread(text, 1, sizeof(text) - 64, file);
    Cell *cells = malloc(sizeof(Cell) * 2 * (1 << 22));
    int *ends = malloc(4 << 22), n = 0, n_sentences = 0, times = argc > 2 ? atoi(argv[2]) : 30, checksum = 0;
    for (char *p = text, *q; p < end; p = q + 1) {
        q = memchr(p, '\n', end - p);
        q = q ? q : end;
        if (q > p) {
            char *space = memchr(p, ' ', q - p), *after = memchr(space + 1, ' ', q - space - 1);
            cells[2 * n] = (Cell) {p, (int) (space - p)};
            cells[2 * n + 1] = (Cell) {space + 1, (int) ((after ? after : q) - space - 1)};
            n++;
        }
        if ((q == p || q + 1 >= end) && n && (!n_sentences || ends[n_sentences - 1] < n)) ends[n_sentences++] = n;
    }
    for (int k = 0; k < KINDS; k++) tables[k] = table(1 << 18), tables[k].n = 1, rows[k] = calloc((size_t) (1 << 17) * ROWS[k] * LP, 4);
    for (int s = 0; s < n_sentences; s++) find(cells + 2 * (s ? ends[s - 1] : 0), ends[s] - (s ? ends[s - 1] : 0));
    for (int k = 0; k < KINDS; k++)
        for (size_t i = 0; i < (size_t) tables[k].n * ROWS[k] * LP; i++) rows[k][i] = (float) rand() / RAND_MAX - 0.5f;
    for (int i = 0; i < L; i++)
        for (int j = 0; j < L; j++) trans[i][j] = (float) rand() / RAND_MAX;
    double best = 1e30;
    for (int run = 0; run < 5; run++) {
        double start = now();
        for (int i = 0; i < times; i++)
            for (int s = 0; s < n_sentences; s++) {
                int first = s ? ends[s - 1] : 0, T = ends[s] - first;
                find(cells + 2 * first, T);
                score(T);
                checksum += viterbi(T);
            }
        double took = now() - start;
        best = took < best ? took : best;
    }
    fprintf(stderr, "checksum %d\n", checksum);
    printf("{\"tokens_per_s\": %.0f}\n", (double) n * times / best);
    return 0;
}
