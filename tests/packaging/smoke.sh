# smoke.sh DATA: an installed crftrain, from a folder that is not the project's: learn, tag, score; no file is left behind.
set -eu
data=$(cd "$1" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
crftrain --version
crftrain learn -q --passes 20 "$data/train.txt"
crftrain tag model.bin "$data/test.txt" > tagged.txt
crftrain eval tagged.txt
python -c 'import crftrain, os; assert os.path.dirname(crftrain.__file__) != os.getcwd(); print(crftrain.__file__)'
