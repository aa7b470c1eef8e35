#!/bin/sh
# Run what works on memory under the sanitizers: sh tests/sanitized.sh PYTHON TREE, a tree that was built with CRFTRAIN_SANITIZE=1.
# Any finding ends it: every algorithm on every kind of corpus and on data/ (golden.py), kernels, models, hostile ones, streams.
set -eu
python=$1
cd "$2"
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
export LD_PRELOAD
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export PYTHONMALLOC=malloc PYTHONPATH="$PWD" OPENBLAS_NUM_THREADS=1
CRFTRAIN_SIMD=base "$python" tests/golden.py --within "$PWD" > hashes
# one test sends a signal a second after the start, by when a sanitized process is not up; one measures time
"$python" -m pytest -q -p no:cacheprovider --deselect tests/test_stream.py::test_a_signal_before_the_first_sentence_writes_nothing \
    --deselect tests/test_evaluate.py::test_a_corpus_is_counted_at_once \
    tests/attacks/test_hostile_models.py tests/test_kernels.py tests/test_simd.py tests/test_problem.py tests/test_tangent.py tests/test_listing.py \
    tests/test_container.py tests/test_model.py tests/test_stream.py tests/test_encode.py tests/test_tag.py tests/test_plain.py tests/test_readers.py \
    tests/test_evaluate.py tests/test_elastic.py tests/test_order_free.py tests/test_shards.py tests/test_constrained.py tests/test_arcs.py
