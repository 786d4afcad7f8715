import { GgufError, GgufReader } from './gguf-reader.ts'
import { type GgufTensor, tensorBytes, tensorValues } from './gguf-tensors.ts'

/** Facts about weights that the daemon needs before an engine loads them. */
export interface GgufFacts {
  architecture: string
  contextLength: number
  embeddingLength: number
  blockCount: number
  /** Absent where it differs between the layers. */
  headCount: number | undefined
  /** Heads whose keys and values are kept; absent where it differs between the layers. */
  headCountKv: number | undefined
  /** Values of one head's key and value; absent where they follow from the heads. */
  keyLength: number | undefined
  valueLength: number | undefined
  vocabularySize: number
  chatTemplate: string | undefined
  /** `llama_pooling_type` of llama.h: 0 none, 1 mean, 2 first token, 3 last token, 4 rank. */
  poolingType: number | undefined
  /** `llama_ftype` of llama.h, for instance 1 for F16 and 7 for Q8_0. */
  fileType: number | undefined
  name: string | undefined
  /** `general.license`, or the name of one that has no SPDX identifier. */
  licence: string | undefined
  licenceUrl: string | undefined
  tensorCount: number
  /** Values of all tensors. */
  parameterCount: number
  fileBytes: number
}

/** Limits far above any published model; a hostile header is refused. */
const LIMITS = {
  headerBytes: 128 * 1024 * 1024,
  metadataCount: 65_536,
  tensorCount: 65_536,
  keyBytes: 256,
  keptStringBytes: 1024 * 1024,
  arrayElements: 16 * 1024 * 1024,
  contextLength: 100_000_000,
  dimension: 2 ** 40,
  alignmentBytes: 1024 * 1024,
} as const

/**
 * Reads the header of a GGUF file (versions 2 and 3; docs/gguf.md of ggml-org/ggml) with bounded
 * time and memory: llama.cpp and its readers trust the counts in it.
 *
 * @throws GgufError with the reason in plain words
 */
export const checkGguf = async (path: string): Promise<GgufFacts> => {
  const reader = await GgufReader.open(path, LIMITS.headerBytes)
  try {
    const { tensorCount, metadataCount } = await readStart(reader)
    const metadata = await readMetadata(reader, metadataCount)
    const tensors = await readTensors(reader, tensorCount)
    checkPlaces(tensors, metadata, reader)
    const parameterCount = tensors.reduce((sum, tensor) => sum + tensorValues(tensor), 0)
    return { ...facts(metadata), tensorCount, parameterCount, fileBytes: reader.fileBytes }
  } finally {
    await reader.close()
  }
}

const readStart = async (
  reader: GgufReader,
): Promise<{ tensorCount: number; metadataCount: number }> => {
  const magic = (await reader.bytes(4)).toString('latin1')
  if (magic !== 'GGUF') throw new GgufError('it is not a GGUF file')
  const version = await reader.u32()
  if (version !== 2 && version !== 3)
    throw new GgufError(`GGUF version ${version} is not supported`)
  const tensorCount = await requireAtMost(reader.u64(), LIMITS.tensorCount, 'tensors')
  const metadataCount = await requireAtMost(reader.u64(), LIMITS.metadataCount, 'metadata entries')
  return { tensorCount, metadataCount }
}

const requireAtMost = async (
  value: Promise<number>,
  most: number,
  what: string,
): Promise<number> => {
  const count = await value
  if (count > most) throw new GgufError(`${count} ${what} are more than ${most}`)
  return count
}

/** Strings under other keys are passed over. */
const KEPT = /^(general\.(architecture|name|license(\.(name|link))?)|tokenizer\.chat_template)$/

/** Arrays are not kept, only their length. */
type Value = string | number | boolean | { length: number } | undefined
type Metadata = Map<string, Value>

const readMetadata = async (reader: GgufReader, count: number): Promise<Metadata> => {
  const metadata: Metadata = new Map()
  for (let i = 0; i < count; i++) {
    const length = await requireAtMost(reader.u64(), LIMITS.keyBytes, 'bytes of a key')
    const key = (await reader.bytes(length)).toString('utf8')
    if (metadata.has(key)) throw new GgufError(`the key ${key.slice(0, 80)} is a duplicate`)
    const value = await readValue(reader, await reader.u32(), KEPT.test(key))
    metadata.set(key, value)
  }
  return metadata
}

/** `gguf_metadata_value_type`: number of bytes of the types with a fixed size. */
const FIXED_BYTES: Record<number, number> = {
  0: 1,
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  7: 1,
  10: 8,
  11: 8,
  12: 8,
}
const STRING = 8
const ARRAY = 9

const readValue = async (reader: GgufReader, type: number, keep: boolean): Promise<Value> => {
  if (type === STRING) return readString(reader, keep)
  if (type === ARRAY) return readArray(reader)
  const size = FIXED_BYTES[type]
  if (size === undefined) throw new GgufError(`metadata type ${type} is not supported`)
  return readNumber(await reader.bytes(size), type)
}

const readNumber = (bytes: Buffer, type: number): Value => {
  if (type === 7) return bytes[0] === 1
  if (type === 6) return bytes.readFloatLE()
  if (type === 12) return bytes.readDoubleLE()
  if (type === 10) return Number(bytes.readBigUInt64LE())
  if (type === 11) return Number(bytes.readBigInt64LE())
  const signed = type === 1 || type === 3 || type === 5
  return signed ? bytes.readIntLE(0, bytes.length) : bytes.readUIntLE(0, bytes.length)
}

const readString = async (reader: GgufReader, keep: boolean): Promise<string | undefined> => {
  const length = await reader.u64()
  if (keep && length <= LIMITS.keptStringBytes) return (await reader.bytes(length)).toString('utf8')
  reader.skip(length)
  return undefined
}

const readArray = async (reader: GgufReader): Promise<Value> => {
  const type = await reader.u32()
  const length = await requireAtMost(reader.u64(), LIMITS.arrayElements, 'elements of an array')
  const size = FIXED_BYTES[type]
  if (size !== undefined) reader.skip(length * size)
  else if (type === STRING) for (let i = 0; i < length; i++) reader.skip(await reader.u64())
  else throw new GgufError(`arrays of type ${type} are not supported`)
  return { length }
}

const readTensors = async (reader: GgufReader, count: number): Promise<GgufTensor[]> => {
  const tensors: GgufTensor[] = []
  for (let i = 0; i < count; i++) {
    const nameBytes = await requireAtMost(reader.u64(), 127, 'bytes of a tensor name')
    const name = (await reader.bytes(nameBytes)).toString('utf8')
    const dimensions = await requireAtMost(reader.u32(), 4, 'dimensions')
    const shape: number[] = []
    while (shape.length < dimensions) {
      shape.push(await requireAtMost(reader.u64(), LIMITS.dimension, `rows of the tensor ${name}`))
    }
    tensors.push({ name, shape, type: await reader.u32(), offset: await reader.u64() })
  }
  return tensors
}

const checkPlaces = (
  tensors: readonly GgufTensor[],
  metadata: Metadata,
  { position, fileBytes }: { position: number; fileBytes: number },
): void => {
  const alignment = metadata.get('general.alignment') ?? 32
  if (!isPowerOfTwo(alignment) || alignment > LIMITS.alignmentBytes) {
    throw new GgufError('the alignment is not a power of two')
  }
  const start = Math.ceil(position / alignment) * alignment
  for (const tensor of tensors) {
    if (start + tensor.offset + tensorBytes(tensor) > fileBytes) {
      throw new GgufError(
        `the tensor ${tensor.name} lies beyond the end of the file (${fileBytes} bytes); is it complete?`,
      )
    }
  }
}

const isPowerOfTwo = (value: Value): value is number =>
  typeof value === 'number' && Number.isInteger(Math.log2(value)) && value >= 1

const facts = (
  metadata: Metadata,
): Omit<GgufFacts, 'tensorCount' | 'parameterCount' | 'fileBytes'> => {
  const architecture = text(metadata.get('general.architecture'))
  if (architecture === undefined || !/^[a-z0-9._-]{1,64}$/.test(architecture)) {
    throw new GgufError('it names no architecture')
  }
  const requireNumber = (key: string, most: number): number => {
    const value = metadata.get(`${architecture}.${key}`)
    if (typeof value === 'number' && value >= 1 && value <= most) return value
    throw new GgufError(`${architecture}.${key} is missing or out of range`)
  }
  const tokens = metadata.get('tokenizer.ggml.tokens')
  return {
    architecture,
    contextLength: requireNumber('context_length', LIMITS.contextLength),
    embeddingLength: requireNumber('embedding_length', 1_000_000),
    blockCount: requireNumber('block_count', 10_000),
    headCount: number(metadata.get(`${architecture}.attention.head_count`)),
    headCountKv: number(metadata.get(`${architecture}.attention.head_count_kv`)),
    keyLength: number(metadata.get(`${architecture}.attention.key_length`)),
    valueLength: number(metadata.get(`${architecture}.attention.value_length`)),
    vocabularySize: typeof tokens === 'object' ? tokens.length : 0,
    chatTemplate: text(metadata.get('tokenizer.chat_template')),
    poolingType: number(metadata.get(`${architecture}.pooling_type`)),
    fileType: number(metadata.get('general.file_type')),
    name: text(metadata.get('general.name')),
    licence: licenceOf(metadata),
    licenceUrl: text(metadata.get('general.license.link')),
  }
}

/** Publishers write `other` and a name for a licence without an SPDX identifier. */
const licenceOf = (metadata: Metadata): string | undefined => {
  const licence = text(metadata.get('general.license'))
  const name = text(metadata.get('general.license.name'))
  return licence === undefined || licence === 'other' ? (name ?? licence) : licence
}

const text = (value: Value): string | undefined => (typeof value === 'string' ? value : undefined)
const number = (value: Value): number | undefined => (typeof value === 'number' ? value : undefined)
