"""A llama-architecture transformer, in the form that llama.cpp computes it."""

import json
import math
from dataclasses import asdict, dataclass, replace

import torch
from torch import nn
from torch.nn import functional

NORM_EPSILON = 1e-5
ROPE_BASE = 10_000


@dataclass(frozen=True)
class Shape:
    embedding_length: int
    block_count: int
    head_count: int
    head_count_kv: int
    feed_forward_length: int
    vocabulary_size: int
    context_length: int

    @property
    def head_size(self):
        return self.embedding_length // self.head_count


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPSILON) * self.weight


class Block(nn.Module):
    """The attributes have the names of the GGUF tensors."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        width, inner = shape.embedding_length, shape.feed_forward_length
        key_width = shape.head_size * shape.head_count_kv
        self.attn_norm = Norm(width)
        self.attn_q = nn.Linear(width, width, bias=False)
        self.attn_k = nn.Linear(width, key_width, bias=False)
        self.attn_v = nn.Linear(width, key_width, bias=False)
        self.attn_output = nn.Linear(width, width, bias=False)
        self.ffn_norm = Norm(width)
        self.ffn_gate = nn.Linear(width, inner, bias=False)
        self.ffn_up = nn.Linear(width, inner, bias=False)
        self.ffn_down = nn.Linear(inner, width, bias=False)

    def forward(self, x, mask, turns):
        x = x + self.attention(self.attn_norm(x), mask, turns)
        h = self.ffn_norm(x)
        return x + self.ffn_down(functional.silu(self.ffn_gate(h)) * self.ffn_up(h))

    def attention(self, x, mask, turns):
        batch, length, _ = x.shape
        q = rotate(self.heads(self.attn_q(x)), turns)
        k = rotate(self.heads(self.attn_k(x)), turns)
        v = self.heads(self.attn_v(x))
        sharing = self.shape.head_count // self.shape.head_count_kv
        k, v = k.repeat_interleave(sharing, 1), v.repeat_interleave(sharing, 1)
        scores = q @ (k.transpose(-1, -2) / math.sqrt(self.shape.head_size)) + mask
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, -1)
        return self.attn_output(mixed)

    def heads(self, x):
        return x.view(*x.shape[:2], -1, self.shape.head_size).transpose(1, 2)


def rotate(x, turns):
    """Rotary positions on adjacent pairs (0, 1), (2, 3) ..., as in llama.cpp's llama architecture."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(-2)


class Llama(nn.Module):
    """The output layer shares its weights with the token embedding."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(shape.vocabulary_size, shape.embedding_length)
        self.blk = nn.ModuleList(Block(shape) for _ in range(shape.block_count))
        self.output_norm = Norm(shape.embedding_length)
        exponents = torch.arange(0, shape.head_size, 2) / shape.head_size
        angles = torch.outer(torch.arange(shape.context_length), ROPE_BASE ** -exponents)
        self.turns = torch.polar(torch.ones_like(angles), angles)
        self.start()

    def start(self):
        """Small random weights; layers that add to the residual stream start at zero."""
        for name, weight in self.named_parameters():
            if name.endswith(('attn_output.weight', 'ffn_down.weight')):
                nn.init.zeros_(weight)
            elif name.startswith('token_embd'):
                nn.init.normal_(weight, 0, 0.02)
            elif weight.dim() == 2:
                nn.init.normal_(weight, 0, weight.shape[1] ** -0.5)

    def forward(self, ids):
        """The last hidden state of each position; padding may stand at the end of a row."""
        length = ids.shape[1]
        mask = torch.full((length, length), -1e9).triu(1)
        x = self.token_embd(ids)
        for block in self.blk:
            x = block(x, mask, self.turns[:length])
        return self.output_norm(x)

    def scores(self, hidden):
        return hidden @ self.token_embd.weight.t()


@torch.no_grad()
def double_depth(model):
    """Doubles the blocks without changing the output: each is followed by a copy that adds nothing yet."""
    bigger = Llama(replace(model.shape, block_count=2 * model.shape.block_count))
    bigger.token_embd.load_state_dict(model.token_embd.state_dict())
    bigger.output_norm.load_state_dict(model.output_norm.state_dict())
    for at, block in enumerate(bigger.blk):
        block.load_state_dict(model.blk[at // 2].state_dict())
        if at % 2 == 1:
            block.attn_output.weight.zero_()
            block.ffn_down.weight.zero_()
    return bigger


def parameter_count(model):
    return sum(weight.numel() for weight in model.parameters())


def save(model, path):
    """Writes a safetensors file: length of the header, header, then the numbers."""
    header, offset = {'__metadata__': {'shape': json.dumps(asdict(model.shape))}}, 0
    weights = {name: weight.detach().numpy() for name, weight in model.named_parameters()}
    for name, weight in weights.items():
        end = offset + weight.nbytes
        header[name] = {'dtype': 'F32', 'shape': weight.shape, 'data_offsets': [offset, end]}
        offset = end
    encoded = json.dumps(header).encode()
    unfinished = path.with_suffix('.part')
    with unfinished.open('wb') as file:
        file.write(len(encoded).to_bytes(8, 'little') + encoded)
        for weight in weights.values():
            file.write(weight.tobytes())
    unfinished.rename(path)


def load(model, path):
    """Reads what `save` wrote into a model of the same shape."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], 'little')
    header = json.loads(content[8:start])
    for name, weight in model.named_parameters():
        begin, end = header[name]['data_offsets']
        stored = bytearray(content[start + begin:start + end])
        values = torch.frombuffer(stored, dtype=torch.float32)
        weight.data.copy_(values.view(weight.shape))
