import type { writeRandomModel } from '../../../models/gguf/random-model.ts'

type RandomModel = Parameters<typeof writeRandomModel>[1]

/** Loads in half a second and makes thousands of tokens a second. */
export const SMALL: RandomModel = {
  embeddingLength: 64,
  blockCount: 1,
  headCount: 2,
  headCountKv: 1,
  feedForwardLength: 64,
  vocabularySize: 512,
  contextLength: 2048,
  type: 'Q8_0',
  seed: 1,
}

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
const u64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}
const text = (value: string): Buffer =>
  Buffer.concat([u64(BigInt(value.length)), Buffer.from(value)])
const file = (tensors: bigint, entries: bigint, ...rest: Buffer[]): Buffer =>
  Buffer.concat([Buffer.from('GGUF'), u32(3), u64(tensors), u64(entries), ...rest])
const array = (type: number, length: bigint): Buffer =>
  Buffer.concat([text('a'), u32(9), u32(type), u64(length)])

/** Replaces bytes of a good file; `from` is found by its text. */
const patchHeader = (good: Buffer, key: string, skip: number, value: Buffer): Buffer => {
  const copy = Buffer.from(good)
  value.copy(copy, copy.indexOf(key) + key.length + skip)
  return copy
}

const HUGE = 2n ** 64n - 1n

/** Files that nobody should hand to an engine, made from a good one. */
export const HOSTILE: Record<string, (good: Buffer) => Buffer> = {
  'no content': () => Buffer.alloc(0),
  'another magic': good => Buffer.concat([Buffer.from('GGML'), good.subarray(4)]),
  'version 1': good => Buffer.concat([Buffer.from('GGUF'), u32(1), good.subarray(8)]),
  'version 1 in the other byte order': good =>
    Buffer.concat([Buffer.from('GGUF'), u32(0x03000000), good.subarray(8)]),
  '2^64-1 metadata entries': good =>
    Buffer.concat([good.subarray(0, 16), u64(HUGE), good.subarray(24)]),
  '2^64-1 tensors': good => Buffer.concat([good.subarray(0, 8), u64(HUGE), good.subarray(16)]),
  'a million tensors and no byte of them': () => file(1_000_000n, 0n),
  'an array of 2^62 strings': () => file(0n, 1n, array(8, 2n ** 62n)),
  'an array of 2^62 bytes': () => file(0n, 1n, array(0, 2n ** 62n)),
  'a million empty strings announced': () => file(0n, 1n, array(8, 1_000_000n), Buffer.alloc(64)),
  'nested arrays': () =>
    file(0n, 1n, array(9, 1n), ...Array.from({ length: 64 }, () => [u32(9), u64(1n)]).flat()),
  'an unknown value type': () => file(0n, 1n, text('a'), u32(99)),
  'a key of 2^63 bytes': () => file(0n, 1n, u64(2n ** 63n)),
  'a string of 2^40 bytes': () => file(0n, 1n, text('a'), u32(8), u64(2n ** 40n)),
  'the same key twice': () =>
    file(0n, 2n, text('a'), u32(7), u32(0).subarray(0, 1), text('a'), u32(7), u32(0)),
  'no architecture': () => file(0n, 0n, Buffer.alloc(64)),
  'a context of 0 tokens': good => patchHeader(good, 'llama.context_length', 4, u32(0)),
  'a context of 2^32-1 tokens': good =>
    patchHeader(good, 'llama.context_length', 4, u32(0xffffffff)),
  '2^32-1 layers': good => patchHeader(good, 'llama.block_count', 4, u32(0xffffffff)),
  'an alignment of 3': good => patchHeader(good, 'general.alignment', 4, u32(3)),
  'an alignment of 2^31': good => patchHeader(good, 'general.alignment', 4, u32(2 ** 31)),
  '2^31 dimensions': good => patchHeader(good, 'token_embd.weight', 0, u32(2 ** 31)),
  'a row of 2^63 values': good => patchHeader(good, 'token_embd.weight', 4, u64(2n ** 63n)),
  'a tensor beyond its end': good => patchHeader(good, 'output_norm.weight', 16, u64(2n ** 40n)),
}
