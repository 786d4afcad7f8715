"""Trains the embedding model. usage: train_embedding.py <tokenizer.json> <output.safetensors>

Two wordings of one fact are to be near, wordings of different facts far apart (InfoNCE loss,
van den Oord et al. 2018, with the other pairs of the batch as negatives).
"""

import argparse
import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent / 'corpus'))

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

from chats import TABLES, WRITTEN  # noqa: E402
from model import Llama, Shape, load, parameter_count, save  # noqa: E402
from muon import optimizers  # noqa: E402
from phrasing import question, style  # noqa: E402
from tokenizer import TEXT_START, Tokenizer  # noqa: E402
from train_chat import learn, rate  # noqa: E402
from unknown import unknown_question  # noqa: E402

SHAPE = dict(embedding_length=256, block_count=3, head_count=4, head_count_kv=2,
             feed_forward_length=320)
CONTEXT_LENGTH = 2048
SEED = 23
PAIRS_PER_BATCH = 96
TEMPERATURE = 0.05
TEXTS_PER_GROUP = 32
LONGEST_TEXT_TOKENS = 96
SAVE_SECONDS = 60


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('tokenizer', type=Path)
    parser.add_argument('output', type=Path)
    parser.add_argument('--minutes', type=float, default=10)
    parser.add_argument('--resume', type=Path, help='weights to begin with')
    return parser.parse_args()


def fact_pair(fact, random):
    first = style(question(fact, random), random)
    if random.random() < 0.25:
        return first, fact.answer
    return first, style(question(fact, random), random)


def other_pair(random):
    """An everyday question, and the same with another style and perhaps without a word."""
    text = unknown_question(random)
    words = text.split()
    if len(words) > 3 and random.random() < 0.6:
        del words[random.randrange(len(words))]
    return style(text, random), style(' '.join(words), random)


def pairs(random):
    """No fact occurs twice in a batch; facts with the same answer count as one."""
    facts = {fact.answer: fact for fact in random.sample(WRITTEN, 44) + random.sample(TABLES, 30)}
    made = [fact_pair(fact, random) for fact in facts.values()]
    return made + [other_pair(random) for _ in range(PAIRS_PER_BATCH - len(made))]


def encode(texts, tokenizer):
    rows = [[TEXT_START, *tokenizer.encode(text)][:LONGEST_TEXT_TOKENS] for text in texts]
    ids = torch.full((len(rows), max(map(len, rows))), TEXT_START)
    present = torch.zeros(ids.shape)
    for at, row in enumerate(rows):
        ids[at, :len(row)] = torch.tensor(row)
        present[at, :len(row)] = 1
    return ids, present


def embed(model, texts, tokenizer):
    """Vectors of length 1. Texts of similar length are computed together: that saves padding."""
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    groups = [order[at:at + TEXTS_PER_GROUP] for at in range(0, len(order), TEXTS_PER_GROUP)]
    encoded = [encode([texts[at] for at in group], tokenizer) for group in groups]
    vectors = torch.cat([pool(model, ids, present) for ids, present in encoded])
    return vectors[torch.tensor(order).argsort()]


def pool(model, ids, present):
    """The mean over the tokens of a text, as llama.cpp's mean pooling has it."""
    mean = (model(ids) * present[:, :, None]).sum(1) / present.sum(1, keepdim=True)
    return functional.normalize(mean, dim=1)


def contrast(left, right):
    scores = left @ right.t() / TEMPERATURE
    same = torch.arange(len(left))
    return (functional.cross_entropy(scores, same) + functional.cross_entropy(scores.t(), same)) / 2


def train(options):
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    tokenizer = Tokenizer.load(options.tokenizer)
    model = Llama(Shape(**SHAPE, vocabulary_size=len(tokenizer.tokens),
                        context_length=CONTEXT_LENGTH))
    if options.resume:
        load(model, options.resume)
    print(f'{parameter_count(model)} parameters', flush=True)
    learners = optimizers(model)
    random = Random(f'{SEED} {options.resume}')
    begin, saved, step, mean_loss = time.time(), time.time(), 0, 0.0
    while (part := (time.time() - begin) / (60 * options.minutes)) < 1:
        batch = pairs(random)
        texts = [text for side in zip(*batch) for text in side]
        vectors = embed(model, texts, tokenizer)
        loss = contrast(vectors[:len(batch)], vectors[len(batch):])
        loss.backward()
        learn(model, learners, rate(step, part))
        step += 1
        mean_loss += max(0.02, 1 / step) * (loss.item() - mean_loss)
        if step % 20 == 0:
            print(f'step {step}  {100 * part:.1f} %  loss {mean_loss:.4f}', flush=True)
        if time.time() - saved > SAVE_SECONDS:
            saved = time.time()
            save(model, options.output)
    save(model, options.output)
    print(f'{step} steps, loss {mean_loss:.4f}')


if __name__ == '__main__':
    train(arguments())
