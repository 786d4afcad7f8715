"""Endless batches of freshly made chats, encoded as ChatML."""

import torch

import tokenizer as bpe

#: Some programs omit the text-start token, so the models are trained with both forms.
NO_START_SHARE = 0.25

#: Number of chats that are generated and sorted by length at a time.
CHATS_AT_ONCE = 256

#: The first tokens of an answer decide which answer it is, so they count more.
FIRST_TOKENS = 5
FIRST_WEIGHT = 4.0

#: The rest of a long answer is soon known by heart: a chat may end this far into its last one.
CUT_TOKENS = 10


def encode_chat(messages, tokenizer, random, limit, cut_share):
    """Token ids and, for each, how much its prediction counts: only answers do."""
    ids, weights, answer_start = [], [], 0
    if random.random() >= NO_START_SHARE:
        ids, weights = [bpe.TEXT_START], [0.0]
    for role, text in messages:
        head = [bpe.TURN_START, *tokenizer.encode(role + '\n')]
        body = [*tokenizer.encode(text), bpe.TURN_END]
        if len(ids) + len(head) + len(body) > limit:
            break
        newline = tokenizer.encode('\n')
        answer_start = len(ids) + len(head)
        ids += head + body + newline
        weights += [0.0] * len(head) + body_weights(role, len(body)) + [0.0] * len(newline)
    if random.random() < cut_share:
        end = answer_start + CUT_TOKENS
        ids, weights = ids[:end], weights[:end]
    return ids, weights


def body_weights(role, length):
    if role != 'assistant':
        return [0.0] * length
    return ([FIRST_WEIGHT] * FIRST_TOKENS + [1.0] * length)[:length]


def batches(make_chat, tokenizer, random, tokens_per_batch, limit, cut_share=0.0):
    """Batches of chats of similar length, which need little padding."""
    while True:
        chats = [encode_chat(make_chat(random), tokenizer, random, limit, cut_share)
                 for _ in range(CHATS_AT_ONCE)]
        chats = sorted((chat for chat in chats if any(chat[1])), key=lambda chat: len(chat[0]))
        groups, group = [], []
        for chat in chats:
            if group and len(chat[0]) * (len(group) + 1) > tokens_per_batch:
                groups.append(group)
                group = []
            group.append(chat)
        groups.append(group)
        random.shuffle(groups)
        yield from map(to_tensors, groups)


def to_tensors(group):
    """Inputs, which positions count, and their next tokens with how much each counts."""
    length = max(len(ids) for ids, _ in group)
    ids = torch.full((len(group), length), bpe.TEXT_START)
    weights = torch.zeros((len(group), length))
    for row, (tokens, counts) in enumerate(group):
        ids[row, :len(tokens)] = torch.tensor(tokens)
        weights[row, :len(tokens)] = torch.tensor(counts)
    wanted = weights[:, 1:] > 0
    return ids[:, :-1], wanted, ids[:, 1:][wanted], weights[:, 1:][wanted]
