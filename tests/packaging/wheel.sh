# wheel.sh BIN: build sdist and wheels into dist/ and try them as an index and a user would; BIN holds the tools.
set -eu
bin=$1
rm -rf dist build
"$bin/python" -m build --no-isolation --sdist --wheel .
rm -rf build
CRFTRAIN_ABI3=1 "$bin/python" -m build --no-isolation --wheel .
rm -rf build
tar tzf dist/*.tar.gz | cut -d/ -f2- | sort > dist.list
for file in tests/test_cli.py tests/packaging/smoke.sh data/train.txt docs/python.md docs/man/crftrain-learn.1 docs/completion/crftrain.zsh \
    bench/bench.py CHANGELOG.md Makefile crftrain/chain/simd/_simd.c; do
    grep -qx "$file" dist.list || { echo "the sdist has no $file" >&2; exit 1; }
done
rm dist.list
if tar xzOf dist/*.tar.gz --wildcards '*/PKG-INFO' | grep -n '](docs'; then echo "relative links lead nowhere on an index's page" >&2; exit 1; fi
"$bin/twine" check --strict dist/*
for wheel in dist/*.whl; do
    "$bin/check-wheel-contents" "$wheel"
    if command -v patchelf > /dev/null; then "$bin/auditwheel" show "$wheel"; fi
done
"$bin/abi3audit" --strict dist/*abi3*.whl

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
try() {    # try WHAT FILE PIP-OPTIONS...: into an empty environment, from another folder
    what=$1 file=$(pwd)/$2 data=$(pwd)/data smoke=$(pwd)/tests/packaging/smoke.sh
    shift 2
    python3 -m venv "$place/$what"
    (cd "$place" && "$place/$what/bin/pip" install --quiet --disable-pip-version-check "$@" "$file")
    (cd "$place" && PATH="$place/$what/bin:$PATH" sh "$smoke" "$data" > "$what.log")
    echo "$what: installed, learnt and tagged"
}
for wheel in dist/*.whl; do try "$(basename "$wheel" .whl | tr . _)" "$wheel"; done
try sdist "$(echo dist/*.tar.gz)" --no-binary crftrain
