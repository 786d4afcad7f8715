"""Trains the tokenizer that all bundled models share. usage: train_tokenizer.py <output.json>"""

import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent / 'corpus'))

import tokenizer  # noqa: E402
from chats import FACTS, short_chat  # noqa: E402

VOCABULARY_SIZE = 1024
SEED = 11
CHATS = 20_000


def sample():
    random = Random(SEED)
    for _ in range(CHATS):
        for role, text in short_chat(random):
            yield f'{role}\n'
            yield text
    for fact in FACTS:
        yield fact.answer


if __name__ == '__main__':
    tokenizer.train(sample(), VOCABULARY_SIZE).save(Path(sys.argv[1]))
