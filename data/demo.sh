#!/bin/sh
# Check, learn, tag, evaluate and look inside, on the small corpus of this folder. Two pages stay in build/, nothing else is left behind.
set -eu
cd "$(dirname "$0")/.."

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
model=$tmp/model.bin

run() {
    printf '\n$ %s\n' "$1"
    eval "$1"
}

run 'head -n 4 data/train.txt'
run 'crftrain check --dev data/dev.txt --test data/test.txt data/train.txt'
run 'crftrain learn -a sag --lambda 1/n -t data/template.txt --dev data/dev.txt --log "$tmp/run.jsonl" -m "$model" data/train.txt'
run 'crftrain tag "$model" data/test.txt | crftrain eval'
run 'crftrain dump --top 10 "$model"'
mkdir -p build/pages
run 'crftrain report -o build/pages/report.html --dev data/dev.txt --log "$tmp/run.jsonl" "$model" data/test.txt'
run 'crftrain compare --out "$tmp/race" --test data/test.txt -a sag -a lbfgs --max-passes 20 data/train.txt 2> /dev/null'
cp "$tmp/race/race.html" build/pages/race.html
printf '\nbuild/pages/report.html and build/pages/race.html show it in a browser.\n'
