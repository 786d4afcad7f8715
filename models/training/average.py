"""Averages two models of one shape, with a share of the second, by default a half.

usage: average.py <a.safetensors> <b.safetensors> <output> [share]

The mean of the weights before and after a further run is often better than either (Wortsman et al.,
"Model soups", 2022, arXiv:2203.05482).
"""

import json
import sys
from pathlib import Path

import torch

from model import Llama, Shape, load, save


def main():
    first_path, second_path, output = (Path(argument) for argument in sys.argv[1:4])
    share = float(sys.argv[4]) if len(sys.argv) > 4 else 0.5
    first, second = read(first_path), read(second_path)
    if first.shape != second.shape:
        sys.exit(f'the shapes differ: {first.shape} and {second.shape}')
    with torch.no_grad():
        for mine, other in zip(first.parameters(), second.parameters()):
            mine.lerp_(other, share)
    save(first, output)


def read(path):
    content = path.read_bytes()
    header = json.loads(content[8:8 + int.from_bytes(content[:8], 'little')])
    model = Llama(Shape(**json.loads(header['__metadata__']['shape'])))
    load(model, path)
    return model


main()
