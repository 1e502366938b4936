"""Prints what the prose uses of the word list; the exit code is 1 if it uses anything."""

import sys

from tools.prose.words import complaints, passages, sentences, words

listed = words() + sentences()
found = [line for passage in passages() for line in complaints(passage, listed)]
sys.stdout.write("".join(f"{line}\n" for line in found))
sys.exit(bool(found))
