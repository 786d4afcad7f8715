import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { bundledModels } from '../../models/bundled.ts'
import type { CatalogueEntry } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import {
  hubAddress,
  nameWeights,
  parseWeightsSource,
  type WeightsSource,
} from '../../shared/weights-source.ts'
import type { InferenceConfig } from './config.ts'
import { DownloadError } from './downloads/download-error.ts'
import { checkGguf, type GgufFacts } from './gguf.ts'
import { GgufError } from './gguf-reader.ts'

/** Location of a model's weights and the expected contents. */
export interface Weights {
  /** Name from the catalogue, without secrets in an address. */
  label: string
  /** Absolute. */
  file: string
  sha256: string | undefined
  /** Address from which a missing file is downloaded. */
  url?: URL
  /** True when that address is the hub. */
  fromHub?: boolean
}

/** Settings besides the catalogue that determine the location of weights. */
export interface WeightsPlaces {
  /** Folder of the weights that were downloaded. */
  modelsDir: string
  /** Address of the model hub that `hf:` means. */
  hubUrl: string
}

/** Download folder and sources of a daemon. */
export const placesOf = (
  { models_dir, hub_url }: Pick<InferenceConfig, 'models_dir' | 'hub_url'>,
  stateDir: string,
): WeightsPlaces => ({
  modelsDir: resolve(models_dir ?? join(stateDir, 'models')),
  hubUrl: hub_url,
})

/** @throws ShoalError config_invalid for weights that cannot be */
export const resolveWeights = (entry: CatalogueEntry, places: WeightsPlaces): Weights => {
  const source = parseWeightsSource(entry.weights)
  const { sha256 } = entry
  if (source.kind === 'file') return { label: source.path, file: resolve(source.path), sha256 }
  if (source.kind === 'bundled') return findBundledWeights(entry, source.id)
  const url = addressOf(entry, source, places.hubUrl)
  const label = nameWeights(entry.weights)
  const file = join(places.modelsDir, fileName(url, sha256))
  return { label, file, sha256, url, fromHub: source.kind === 'hub' }
}

const findBundledWeights = (entry: CatalogueEntry, id: string): Weights => {
  const found = bundledModels.find(model => model.id === id)
  if (found === undefined) {
    throw new ShoalError('config_invalid', `model ${entry.id}: there are no bundled weights ${id}`)
  }
  return { label: entry.weights, file: found.file, sha256: entry.sha256 ?? found.sha256 }
}

const addressOf = (
  { id }: CatalogueEntry,
  source: Extract<WeightsSource, { kind: 'hub' | 'url' }>,
  hubUrl: string,
): URL => {
  try {
    return source.kind === 'url' ? source.url : hubAddress(hubUrl, source)
  } catch (cause) {
    throw new ShoalError('config_invalid', `model ${id}: ${(cause as Error).message}`, { cause })
  }
}

/** File name by digest, so that the same weights from two sources share a file. */
const fileName = (url: URL, sha256: string | undefined): string =>
  sha256 === undefined ? `unchecked-${hash('sha256', url.href)}.gguf` : `sha256-${sha256}.gguf`

/** State of a file; it changes whenever the file is written to or its mode changes. */
export const fileStamp = async (path: string): Promise<string> => {
  const found = await stat(path).catch(() => undefined)
  return found === undefined ? 'absent' : `${found.ino}:${found.size}:${found.ctimeMs}`
}

/**
 * @param onBytes is told how much of the file has been hashed
 * @throws GgufError when the file is not what the catalogue promises or not safe to load;
 *   DownloadError when it was deleted, to be fetched again
 */
export const checkWeights = async (
  weights: Weights,
  kind: CatalogueEntry['kind'],
  signal: AbortSignal,
  onBytes?: (doneBytes: number, totalBytes: number) => void,
): Promise<GgufFacts> => {
  const facts = await checkGguf(weights.file)
  if (kind === 'chat' && facts.chatTemplate === undefined) {
    throw new GgufError('it contains no chat template')
  }
  const { file, sha256 } = weights
  let doneBytes = 0
  const onChunk = (bytes: number): void => {
    doneBytes += bytes
    onBytes?.(doneBytes, facts.fileBytes)
  }
  if (sha256 !== undefined && (await digest(file, signal, onChunk)) !== sha256) {
    if (weights.url === undefined) throw new GgufError(`its sha256 is not ${sha256}`)
    // A file that was downloaded can be downloaded again
    await rm(file, { force: true })
    throw new DownloadError(`its sha256 is not ${sha256} any more; it is downloaded again`, 'later')
  }
  return facts
}

/** Small chunks, so that hashing never delays the tokens of other models. */
const HASH_CHUNK_BYTES = 128 * 1024
const digests = new Map<string, { stamp: string; sha256: string }>()

/** Lower-case hexadecimal; read again only after the file has changed. */
const digest = async (
  path: string,
  signal: AbortSignal,
  onBytes: (bytes: number) => void = () => {},
): Promise<string> => {
  const stamp = await fileStamp(path)
  const known = digests.get(path)
  if (known?.stamp === stamp) return known.sha256
  const hash = createHash('sha256')
  const bytes = createReadStream(path, { highWaterMark: HASH_CHUNK_BYTES, signal })
  for await (const chunk of bytes) {
    hash.update(chunk)
    onBytes(chunk.length)
  }
  const sha256 = hash.digest('hex')
  digests.set(path, { stamp, sha256 })
  return sha256
}

/** Stores the digest of a file that was hashed while it was written. */
export const rememberDigest = async (path: string, sha256: string): Promise<void> => {
  digests.set(path, { stamp: await fileStamp(path), sha256 })
}
