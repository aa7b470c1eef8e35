"""The compiled modules, and only that: every .pyx in the package is an extension of the same name, but for those that another one includes.

CRFTRAIN_ABI3=1 builds one wheel for CPython 3.11 and all that follow it (Python's limited API); without it a wheel serves
the Python that builds it. CRFTRAIN_INPLACE=1 compiles nothing: an editable installation of a tree where `build_ext --inplace` does.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import numpy
from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

JOBS = os.cpu_count() or 1
SHARED = "crftrain._cython"  # what Cython gives to every module, memory views above all: compiled once, imported by the rest
SIMD = Path("crftrain/chain/simd")
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "freethreading_compatible": True,
    "auto_pickle": False,  # what is pickled says itself how; the rest refuses
}
Options.emit_code_comments = False  # a tenth of the generated lines would repeat the source
FLAGS = ["-O3", "-fno-math-errno", "-g0", "-Wno-array-bounds"]
if os.name == "nt":
    FLAGS = ["/clang:-O3", "/clang:-fno-math-errno"]
SANITIZERS = ["-fsanitize=address,undefined"] if os.environ.get("CRFTRAIN_SANITIZE") else []  # make sanitize
if SANITIZERS:
    FLAGS = ["-O1", "-g1", "-fno-omit-frame-pointer", *SANITIZERS]
ABI3 = os.environ.get("CRFTRAIN_ABI3") == "1"
MACROS = [("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")] + ([("Py_LIMITED_API", "0x030B0000")] if ABI3 else [])
COMMON = {"extra_compile_args": FLAGS, "extra_link_args": SANITIZERS, "define_macros": MACROS, "py_limited_api": ABI3}


def readme():
    """README.md for a package index, where relative links lead nowhere: links into the Source of pyproject.toml, or paths of the sdist."""
    text = Path("README.md").read_text(encoding="utf-8")
    source = re.search(r'^Source = "(.+?)/?"', Path("pyproject.toml").read_text(encoding="utf-8"), re.M)
    link = rf"[\1]({source[1]}/blob/HEAD/\2)" if source else r"\1 (\2)"
    return re.sub(r"(\S+) \(\1\)", r"\1", re.sub(r"\[([^]]+)\]\((?!https?:|#)([^)]+)\)", link, text))


def extension(path):
    """One .pyx; _kernels carries the C body with the inner loops."""
    return Extension(
        ".".join(path.with_suffix("").parts),
        [str(path)] + ([str(SIMD / "_simd.c")] if path.stem == "_kernels" else []),
        include_dirs=[numpy.get_include(), str(SIMD)],
        depends=[str(header) for header in sorted(SIMD.glob("*.h" if path.stem == "_kernels" else "_simd.h"))],
        **COMMON,
    )


def extensions(folder):
    """All of a folder. What a _compiled.pyx includes is part of it: a module costs thousands of lines of C before its first function."""
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("_*.pyx"))}
    included = {path.parent / name for path, text in sources.items() for name in re.findall(r'^include "(.+)"', text, re.M)}
    return [extension(path) for path in sources if path not in included]


class Build(build_ext):
    """Cython runs here, when something is built, and not for each question that an installer asks; each module is told."""

    def finalize_options(self):
        self.distribution.ext_modules[:] = cythonize(
            self.distribution.ext_modules,
            compiler_directives=DIRECTIVES,
            nthreads=JOBS if os.name != "nt" else 0,
            shared_utility_qualified_name=SHARED,
            quiet=True,
        )
        super().finalize_options()
        self.parallel, self.compiled = JOBS, 0
        if not self.inplace and not SANITIZERS and sys.platform == "linux":
            for ext in self.extensions:  # what is installed needs no names of its own functions: a seventh less
                ext.extra_link_args = [*ext.extra_link_args, "-s"]

    def build_extensions(self):
        if self.compiler.compiler_type == "msvc":  # which has no vector extensions; clang-cl takes its options, and setuptools asks no CC
            self.compiler.initialize()
            self.compiler.cc = shutil.which("clang-cl") or sys.exit("crftrain is compiled by clang-cl on Windows, which is not on the PATH")
        super().build_extensions()

    def build_extension(self, ext):
        super().build_extension(ext)
        self.compiled += 1
        print(f"[{self.compiled}/{len(self.extensions)}] {ext.name}", flush=True)


if __name__ == "__main__":
    modules = [*extensions(Path("crftrain")), Extension(SHARED, [], **COMMON)]
    setup(
        long_description=readme(),
        long_description_content_type="text/markdown",
        ext_modules=[] if os.environ.get("CRFTRAIN_INPLACE") == "1" else modules,
        cmdclass={"build_ext": Build},
        options={"bdist_wheel": {"py_limited_api": "cp311"}} if ABI3 else {},
    )
