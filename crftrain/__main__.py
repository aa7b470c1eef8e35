"""python -m crftrain"""

from .cli import main

if __name__ == "__main__":
    main()
