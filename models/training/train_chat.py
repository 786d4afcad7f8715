"""Trains a chat model. usage: train_chat.py large|small <tokenizer.json> <output.safetensors>"""

import argparse
import math
import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent / 'corpus'))

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

import chats  # noqa: E402
from batches import batches  # noqa: E402
from model import Llama, Shape, double_depth, load, parameter_count, save  # noqa: E402
from muon import optimizers  # noqa: E402
from tokenizer import Tokenizer  # noqa: E402

SHAPES = {
    'large': dict(embedding_length=192, block_count=4, head_count=6, head_count_kv=2,
                  feed_forward_length=640),
    'small': dict(embedding_length=96, block_count=4, head_count=3, head_count_kv=1,
                  feed_forward_length=256),
}
CONTEXT_LENGTH = 2048
SEED = 5
WARM_UP_STEPS = 100
#: Share of the training time with half the blocks and single questions, in which the model learns
#: to distinguish them at several times the speed.
GROW_AT = 0.4
#: Number of batches after that which still hold single questions.
SINGLE_SHARE = 0.5
#: Share of the training time after which half of the chats are long.
LONG_FROM = 0.85
SAVE_SECONDS = 60


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('size', choices=SHAPES)
    parser.add_argument('tokenizer', type=Path)
    parser.add_argument('output', type=Path)
    parser.add_argument('--minutes', type=float, default=45,
                        help='the learning rate falls over this time')
    parser.add_argument('--tokens-per-batch', type=int, default=1536)
    parser.add_argument('--resume', type=Path, help='weights to begin with')
    parser.add_argument('--from-part', type=float, default=0,
                        help='begin at this part of the schedule, from 0 to 1')
    parser.add_argument('--boost', default='', metavar='NAME,NAME',
                        help='facts that occur more often, such as those that changed')
    return parser.parse_args()


def rate(step, part):
    """Share of the highest learning rate: a rise, then a fall along a cosine to 2 percent."""
    return min(1, (step + 1) / WARM_UP_STEPS) * (0.02 + 0.49 * (1 + math.cos(math.pi * part)))


def learn(model, learners, share):
    """One step of all optimizers with what the gradients say."""
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer, highest in learners:
        for group in optimizer.param_groups:
            group['lr'] = highest * share
        optimizer.step()
        optimizer.zero_grad()


class Feed:
    """Single questions, then also short chats; at last half of the batches hold long ones."""

    def __init__(self, tokenizer, tokens_per_batch):
        def stream(seed, make_chat, limit, cut_share=0.0):
            tokens = max(tokens_per_batch, limit)
            return batches(make_chat, tokenizer, Random(seed), tokens, limit, cut_share)
        self.random = Random(SEED)
        self.single = stream(SEED, chats.single_chat, 512, 0.85)
        self.short = stream(SEED + 1, chats.short_chat, 512, 0.4)
        self.medium = stream(SEED + 2, chats.medium_chat, 512)
        self.long = stream(SEED + 3, chats.long_chat, 1024)
        self.longest = stream(SEED + 4, chats.long_chat, CONTEXT_LENGTH)

    def next(self, part):
        if part < GROW_AT or (part < LONG_FROM and self.random.random() < SINGLE_SHARE):
            return next(self.single)
        if part > LONG_FROM and self.random.random() < 0.5:
            return next(self.longest if self.random.random() < 0.15 else self.long)
        return next(self.medium if self.random.random() < 0.08 else self.short)


def first_shape(size, vocabulary_size):
    shape = {**SHAPES[size], 'block_count': SHAPES[size]['block_count'] // 2}
    return Shape(**shape, vocabulary_size=vocabulary_size, context_length=CONTEXT_LENGTH)


def schedule_part(options, seconds):
    return options.from_part + (1 - options.from_part) * seconds / (60 * options.minutes)


def train(options):
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    chats.boost(set(filter(None, options.boost.split(','))))
    tokenizer = Tokenizer.load(options.tokenizer)
    model = Llama(first_shape(options.size, len(tokenizer.tokens)))
    if options.resume:
        model = double_depth(model)
        load(model, options.resume)
    learners = optimizers(model)
    feed = Feed(tokenizer, options.tokens_per_batch)
    begin, saved, step, seen, mean_loss = time.time(), time.time(), 0, 0, 0.0
    while (part := schedule_part(options, time.time() - begin)) < 1:
        if part >= GROW_AT and model.shape.block_count < SHAPES[options.size]['block_count']:
            model = double_depth(model)
            learners = optimizers(model)
        ids, wanted, targets, weights = feed.next(part)
        scores = model.scores(model(ids)[wanted])
        losses = functional.cross_entropy(scores, targets, reduction='none')
        loss = (losses * weights).sum() / weights.sum()
        loss.backward()
        learn(model, learners, rate(step, part))
        step, seen = step + 1, seen + ids.numel()
        mean_loss += max(0.02, 1 / step) * (loss.item() - mean_loss)
        if step % 50 == 0:
            speed = seen / (time.time() - begin)
            print(f'step {step}  {100 * part:.1f} %  loss {mean_loss:.4f}  {speed:.0f} tokens/s',
                  flush=True)
        if time.time() - saved > SAVE_SECONDS:
            saved = time.time()
            save(model, options.output)
    save(model, options.output)
    print(f'{parameter_count(model)} parameters, {step} steps, {seen} tokens, '
          f'loss {mean_loss:.4f}')


if __name__ == '__main__':
    train(arguments())
