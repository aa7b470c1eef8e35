/* One body of loops, compiled for three widths of vector; see _simd.h. */
#include "_simd.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Both compilers give a level's instructions to the functions in between, each in its own words. With MSVC's linker there is the first level
   alone: what asks the CPU is in a library that it does not look into. */
#if defined(_MSC_VER)
#elif defined(__x86_64__) && defined(__clang__)
#define MANY_TARGETS 1
#define V3 _Pragma("clang attribute push(__attribute__((target(\"arch=x86-64-v3\"))), apply_to = function)") \
           _Pragma("clang attribute push(__attribute__((min_vector_width(256))), apply_to = function)")
#define V4 _Pragma("clang attribute push(__attribute__((target(\"arch=x86-64-v4\"))), apply_to = function)") \
           _Pragma("clang attribute push(__attribute__((min_vector_width(512))), apply_to = function)")
#define END _Pragma("clang attribute pop") _Pragma("clang attribute pop")
#elif defined(__x86_64__) && defined(__GNUC__)
#define MANY_TARGETS 1
#define V3 _Pragma("GCC push_options") _Pragma("GCC target(\"arch=x86-64-v3\")")
#define V4 _Pragma("GCC push_options") _Pragma("GCC target(\"arch=x86-64-v4,prefer-vector-width=512\")")
#define END _Pragma("GCC pop_options")
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
V3
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
END

V4
#define FN(name) name##_v4
#define NAME "v4"
#define VW 8
#define SETS 2
#define TILE 8
#include "_simd_body.h"
END
#endif

#ifdef MANY_TARGETS
/* By parts: older compilers know the names of the levels for code, but not as a question to the CPU. */
static int has_v3(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"); }

static int has_v4(void) {
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

const Simd *crftrain_simd(const char *wish) {
#ifdef MANY_TARGETS
    __builtin_cpu_init();
    if (has_v4() && (!*wish || !strcmp(wish, "v4"))) return &table_v4;
    if (has_v3() && (!*wish || !strcmp(wish, "v3"))) return &table_v3;
#endif
    return !*wish || !strcmp(wish, "base") ? &table_base : NULL;
}
