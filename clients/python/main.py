"""Started by the harness as ``python main.py``; this folder is then on the path."""

from gap_python.cli import main

main()
