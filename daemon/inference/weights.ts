import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { bundledModels } from '../../models/bundled.ts'
import type { CatalogueEntry } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import { checkGguf, type GgufFacts } from './gguf.ts'
import { GgufError } from './gguf-reader.ts'

/** Where a model's weights lie and what they must be. */
export interface Weights {
  /** As the catalogue writes it. */
  label: string
  /** Absolute. */
  file: string
  sha256: string | undefined
}

const BUNDLED = 'bundled:'

/** @throws ShoalError config_invalid when no bundled weights have that id */
export const resolveWeights = (entry: CatalogueEntry): Weights => {
  if (!entry.weights.startsWith(BUNDLED)) {
    return { label: entry.weights, file: resolve(entry.weights), sha256: entry.sha256 }
  }
  const id = entry.weights.slice(BUNDLED.length)
  const found = bundledModels.find(model => model.id === id)
  if (found === undefined) {
    throw new ShoalError('config_invalid', `model ${entry.id}: no bundled weights are called ${id}`)
  }
  return { label: entry.weights, file: found.file, sha256: entry.sha256 ?? found.sha256 }
}

/** The state of a file; equal text means that nobody has written to it or changed its mode. */
export const fileStamp = async (path: string): Promise<string> => {
  const found = await stat(path).catch(() => undefined)
  return found === undefined ? 'absent' : `${found.ino}:${found.size}:${found.ctimeMs}`
}

/** @throws GgufError when the file is not what the catalogue promises or not safe to load */
export const checkWeights = async (
  weights: Weights,
  kind: CatalogueEntry['kind'],
  signal: AbortSignal,
): Promise<GgufFacts> => {
  const facts = await checkGguf(weights.file)
  if (kind === 'chat' && facts.chatTemplate === undefined) {
    throw new GgufError('it carries no chat template')
  }
  if (weights.sha256 !== undefined && (await digest(weights.file, signal)) !== weights.sha256) {
    throw new GgufError(`its sha256 is not ${weights.sha256}`)
  }
  return facts
}

/** Small, so that hashing never holds up the tokens of other models. */
const HASH_CHUNK_BYTES = 128 * 1024
const digests = new Map<string, { stamp: string; sha256: string }>()

/** Lower-case hexadecimal; read again only after the file has changed. */
export const digest = async (path: string, signal: AbortSignal): Promise<string> => {
  const stamp = await fileStamp(path)
  const known = digests.get(path)
  if (known?.stamp === stamp) return known.sha256
  const hash = createHash('sha256')
  const bytes = createReadStream(path, { highWaterMark: HASH_CHUNK_BYTES, signal })
  for await (const chunk of bytes) hash.update(chunk)
  const sha256 = hash.digest('hex')
  digests.set(path, { stamp, sha256 })
  return sha256
}
