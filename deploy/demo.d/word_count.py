"""The demo's main job: counts the words of a text. Usage: word_count.py FILE"""
import collections
import re
import sys

with open(sys.argv[1], encoding="utf-8") as text:
    content = text.read()
words = re.findall(r"[a-z]+", content.lower())
print(f"{len(content.splitlines())} lines, {len(content.split())} words")
for word, times in collections.Counter(words).most_common(5):
    print(f"{times:6} {word}")
