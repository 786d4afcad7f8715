import { createHash } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { BUNDLED_LIST, type BundledEntry } from '../bundled.ts'
import { type LlamaShape, llamaMetadata, llamaTensors } from './llama.ts'
import { readSafetensors, type Safetensors } from './safetensors.ts'
import { type Tokenizer, tokenizerMetadata } from './tokenizer.ts'
import { type WrittenTensor, writeGguf } from './writer.ts'

const USAGE = 'usage: node export.ts <model id> <weights.safetensors> <tokenizer.json>'

/** Facts about a bundled model that its trained weights do not contain. */
const MODELS: Record<string, { kind: BundledEntry['kind']; description: string }> = {
  'shoal-demo-large': { kind: 'chat', description: 'The larger demonstration model of shoal.' },
  'shoal-demo-small': { kind: 'chat', description: 'The smaller demonstration model of shoal.' },
  'shoal-demo-embed': { kind: 'embedding', description: 'The embedding demonstration of shoal.' },
}

/** Writes trained weights as a bundled model, in Q8_0, and brings `bundled.json` up to date. */
const main = (): void => {
  const { positionals } = parseArgs({ allowPositionals: true })
  const [id, weightsPath, tokenizerPath] = positionals
  const model = id === undefined ? undefined : MODELS[id]
  if (!id || !model || !weightsPath || !tokenizerPath) throw new Error(USAGE)
  const weights = readSafetensors(weightsPath)
  const tokenizer = JSON.parse(readFileSync(tokenizerPath, 'utf8')) as Tokenizer
  const shape = readShape(weights)
  const file = join('weights', `${id}.gguf`)
  const path = join(import.meta.dirname, '..', file)
  const metadata = {
    ...llamaMetadata({
      name: id,
      description: model.description,
      license: 'Apache-2.0',
      shape,
      type: 'Q8_0',
      poolingType: model.kind === 'embedding' ? 'mean' : undefined,
    }),
    ...tokenizerMetadata(tokenizer),
  }
  writeGguf(path, metadata, trainedTensors(shape, weights))
  const content = readFileSync(path)
  updateList({
    id,
    kind: model.kind,
    file,
    sha256: createHash('sha256').update(content).digest('hex'),
    bytes: content.length,
    parameters: [...weights.tensors.values()].reduce((sum, values) => sum + values.length, 0),
    context_length: shape.contextLength,
    ...(model.kind === 'embedding' && { dimensions: shape.embeddingLength }),
  })
}

const readShape = ({ description }: Safetensors): LlamaShape => {
  const shape = JSON.parse(description.shape as string) as Record<string, number>
  return {
    embeddingLength: shape.embedding_length as number,
    blockCount: shape.block_count as number,
    headCount: shape.head_count as number,
    headCountKv: shape.head_count_kv as number,
    feedForwardLength: shape.feed_forward_length as number,
    vocabularySize: shape.vocabulary_size as number,
    contextLength: shape.context_length as number,
  }
}

const trainedTensors = (shape: LlamaShape, { tensors }: Safetensors): WrittenTensor[] =>
  llamaTensors(shape, { tiedOutput: true }).map(({ name, shape }) => ({
    name,
    shape,
    type: shape.length === 1 ? 'F32' : 'Q8_0',
    values: () => {
      const values = tensors.get(name)
      if (values === undefined) throw new Error(`the weights lack ${name}`)
      return [values]
    },
  }))

/** Updates an entry in place; an unknown id is appended. */
const updateList = (entry: BundledEntry): void => {
  const list = JSON.parse(readFileSync(BUNDLED_LIST, 'utf8')) as BundledEntry[]
  const at = list.findIndex(({ id }) => id === entry.id)
  list.splice(at === -1 ? list.length : at, 1, entry)
  const unfinished = `${BUNDLED_LIST}.part`
  writeFileSync(unfinished, `${JSON.stringify(list, null, 2)}\n`)
  renameSync(unfinished, BUNDLED_LIST)
}

main()
