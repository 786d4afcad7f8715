"""Byte-level BPE as in GPT-2: training, storage and encoding.

A digit is always a token of its own, so that numbers can be copied and compared.
"""

import collections
import json
import re

#: The words of GPT-2, and of llama.cpp's pre-tokenizer of that name.
WORDS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")

CONTROL_TOKENS = ['<|endoftext|>', '<|im_start|>', '<|im_end|>']
TEXT_START, TURN_START, TURN_END = range(3)


def byte_tokens():
    """The 256 byte tokens: printable bytes stand for themselves, the others are moved up."""
    printable = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    moved = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(moved)) for byte in range(256)]


BYTES = byte_tokens()


def to_bytes(word):
    return ''.join(BYTES[byte] for byte in word.encode())


def has_digit(token):
    return any(char.isdigit() and char.isascii() for char in token)


def join(symbols, pair):
    joined, at = [], 0
    while at < len(symbols):
        if tuple(symbols[at:at + 2]) == pair:
            joined.append(pair[0] + pair[1])
            at += 2
        else:
            joined.append(symbols[at])
            at += 1
    return joined


def train(texts, size):
    """Merges the most frequent pair again and again until the vocabulary is full."""
    counts = collections.Counter(to_bytes(word) for text in texts for word in WORDS.findall(text))
    words = {word: list(word) for word in counts}
    pairs, places = collections.Counter(), collections.defaultdict(set)

    def count_pairs(word, sign):
        for pair in zip(words[word], words[word][1:]):
            if not has_digit(pair[0]) and not has_digit(pair[1]):
                pairs[pair] += sign * counts[word]
                places[pair].add(word)

    for word in words:
        count_pairs(word, 1)
    merges = []
    while len(CONTROL_TOKENS) + len(BYTES) + len(merges) < size:
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for word in list(places[best]):
            count_pairs(word, -1)
            words[word] = join(words[word], best)
            count_pairs(word, 1)
        del pairs[best]
    return Tokenizer(merges)


class Tokenizer:
    def __init__(self, merges):
        self.merges = merges
        self.tokens = [*CONTROL_TOKENS, *BYTES, *(left + right for left, right in merges)]
        if len(set(self.tokens)) != len(self.tokens):
            raise ValueError('two merges make the same token')
        self.ids = {token: at for at, token in enumerate(self.tokens)}
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.known = {}

    def encode(self, text):
        return [token for word in WORDS.findall(text) for token in self.encode_word(word)]

    def encode_word(self, word):
        if word not in self.known:
            symbols = list(to_bytes(word))
            while True:
                pairs = list(zip(symbols, symbols[1:]))
                ranked = [(self.ranks[pair], pair) for pair in pairs if pair in self.ranks]
                if not ranked:
                    break
                symbols = join(symbols, min(ranked)[1])
            self.known[word] = [self.ids[symbol] for symbol in symbols]
        return self.known[word]

    def save(self, path):
        content = {'tokens': self.tokens, 'merges': [' '.join(pair) for pair in self.merges]}
        path.write_text(json.dumps(content, ensure_ascii=False), encoding='utf-8')

    @classmethod
    def load(cls, path):
        merges = json.loads(path.read_text(encoding='utf-8'))['merges']
        return cls([tuple(merge.split(' ')) for merge in merges])
