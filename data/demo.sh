#!/bin/sh
# Learn, tag, evaluate and look inside, on the small corpus of this folder. Nothing is left behind.
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
run 'crftrain learn -a sag --lambda 1/n -t data/template.txt --dev data/dev.txt -m "$model" data/train.txt'
run 'crftrain tag "$model" data/test.txt | crftrain eval'
run 'crftrain dump --top 10 "$model"'
