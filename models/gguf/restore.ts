import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { bundledModels } from '../bundled.ts'
import { decodeValues, encodedBytes } from './encoding.ts'
import { readGgufHeader } from './reader.ts'
import { writeSafetensors } from './safetensors.ts'

const USAGE = 'usage: node restore.ts <model id> <weights.safetensors> <tokenizer.json>'

/** Writes a bundled model in the form that the trainers continue from; the inverse of `export.ts`. */
const main = (): void => {
  const [id, weightsPath, tokenizerPath] = parseArgs({ allowPositionals: true }).positionals
  const file = bundledModels.find(model => model.id === id)?.file
  if (!file || !weightsPath || !tokenizerPath) throw new Error(USAGE)
  const { metadata } = readGgufHeader(file)
  writeSafetensors(weightsPath, {
    description: { shape: JSON.stringify(shapeOf(metadata)) },
    tensors: readTensors(file),
  })
  const tokens = metadata['tokenizer.ggml.tokens']
  const merges = metadata['tokenizer.ggml.merges']
  writeFileSync(tokenizerPath, JSON.stringify({ tokens, merges }))
}

/** Names of `Shape` in training/model.py. */
const shapeOf = (metadata: Record<string, unknown>) => ({
  embedding_length: metadata['llama.embedding_length'],
  block_count: metadata['llama.block_count'],
  head_count: metadata['llama.attention.head_count'],
  head_count_kv: metadata['llama.attention.head_count_kv'],
  feed_forward_length: metadata['llama.feed_forward_length'],
  vocabulary_size: metadata['llama.vocab_size'],
  context_length: metadata['llama.context_length'],
})

const readTensors = (file: string): Map<string, Float32Array> => {
  const content = readFileSync(file)
  const { tensors, dataStart } = readGgufHeader(file)
  return new Map(
    tensors.map(({ name, shape, type, offset }) => {
      if (type === 'F16')
        throw new Error(`${name} is stored in F16, which export.ts does not write`)
      const begin = dataStart + offset
      const length = encodedBytes(
        type,
        shape.reduce((product, size) => product * size, 1),
      )
      return [name, decodeValues(type, content.subarray(begin, begin + length))]
    }),
  )
}

main()
