"""Started by the harness as ``python main.py``; this folder is then on the path."""

from gap_k6.cli import main

main()
