"""What others printed, told from itself, and beside what stands for it here."""
