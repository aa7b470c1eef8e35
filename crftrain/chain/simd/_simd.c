/* One body of loops, compiled for three widths of vector; see _simd.h. */
#include "_simd.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define MANY_TARGETS 1
#endif

#define FN(name) name##_base
#define NAME "base"
#define VW 2
#define SETS 1
#define TILE 4
#include "_simd_body.h"
#undef FN
#undef NAME
#undef VW
#undef SETS
#undef TILE

#ifdef MANY_TARGETS
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define FN(name) name##_v3
#define NAME "v3"
#define VW 4
#define SETS 2
#define TILE 4
#include "_simd_body.h"
#undef FN
#undef NAME
#undef VW
#undef SETS
#undef TILE
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
#define FN(name) name##_v4
#define NAME "v4"
#define VW 8
#define SETS 2
#define TILE 8
#include "_simd_body.h"
#pragma GCC pop_options
#endif

const Simd *crftrain_simd(const char *wish) {
#ifdef MANY_TARGETS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4") && (!*wish || !strcmp(wish, "v4"))) return &table_v4;
    if (__builtin_cpu_supports("x86-64-v3") && (!*wish || !strcmp(wish, "v3"))) return &table_v3;
#endif
    return !*wish || !strcmp(wish, "base") ? &table_base : NULL;
}
