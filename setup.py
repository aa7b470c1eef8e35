"""The compiled modules, and only that: every .pyx in the package is an extension of the same name."""

import os
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

JOBS = os.cpu_count() or 1
DIRECTIVES = {"language_level": 3, "boundscheck": False, "wraparound": False, "cdivision": True, "initializedcheck": False}


def extension(path):
    """One .pyx; _kernels carries the C body with the inner loops."""
    name = ".".join(path.with_suffix("").parts)
    sources = [str(path)] + (["crftrain/chain/simd/_simd.c"] if path.stem == "_kernels" else [])
    return Extension(
        name,
        sources,
        include_dirs=[numpy.get_include(), "crftrain/chain/simd"],
        depends=[f"crftrain/chain/simd/_simd{part}.h" for part in ("", "_body", "_rates", "_table", "_adagrad")],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        extra_compile_args=[] if os.name == "nt" else ["-O3", "-fno-math-errno"],
    )


def compile_in_parallel(modules):
    """Cython files to C, several at once where the machine has the cores."""
    return cythonize(modules, compiler_directives=DIRECTIVES, nthreads=JOBS if os.name != "nt" else 0)


if __name__ == "__main__":
    setup(
        ext_modules=compile_in_parallel([extension(path) for path in sorted(Path("crftrain").rglob("_*.pyx"))]),
        options={"build_ext": {"parallel": JOBS}},
    )
