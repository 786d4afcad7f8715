import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ShoalError } from '../../shared/errors.ts'
import { VERSION } from '../../shared/version.ts'
import type { Api } from './api.ts'
import type { DescribedOperation } from './document.ts'

const PATH = '/v1/openapi.json'

/**
 * What is cached of a document: its operations, checked and a fifth of its size. The file is private
 * and written by this program alone, so that it is read without another check.
 */
interface KeptDocument {
  /** Version of the program that wrote it. */
  version: string
  etag: string | undefined
  operations: DescribedOperation[]
}

/** The folder of the XDG base directory specification; only its owner may write there. */
export const cacheFolder = (env: Record<string, string | undefined>): string =>
  join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'shoal')

/**
 * Loads the operations of the coordinator's API document. It is revalidated every time and sent only
 * when it changed; the cached copy is used while the coordinator is unreachable. The cache is
 * optional.
 */
export const loadOperations = async (
  api: Api,
  url: string,
  folder: string,
): Promise<DescribedOperation[]> => {
  const file = fileOf(folder, url)
  const kept = await read(file)
  try {
    const fresh = await api.getIfChanged(PATH, kept?.etag)
    if (fresh === undefined) return kept?.operations ?? []
    // the schemas that check a document take a tenth of a second to load
    const { operationsOf } = await import('./document.ts')
    const operations = operationsOf(fresh.body)
    await keep(folder, file, { version: VERSION, etag: fresh.etag, operations })
    return operations
  } catch (error) {
    const away = error instanceof ShoalError && error.code === 'coordinator_unavailable'
    if (away && kept !== undefined) return kept.operations
    throw error
  }
}

/** Cached operations, without a request; undefined when there are none. */
export const readKeptOperations = async (
  url: string,
  folder: string,
): Promise<DescribedOperation[] | undefined> => (await read(fileOf(folder, url)))?.operations

const fileOf = (folder: string, url: string): string =>
  join(folder, `commands-${createHash('sha256').update(url).digest('hex').slice(0, 16)}.json`)

const read = async (file: string): Promise<KeptDocument | undefined> => {
  try {
    const kept: Partial<KeptDocument> = JSON.parse(await readFile(file, 'utf8'))
    const isUsable = kept.version === VERSION && Array.isArray(kept.operations)
    return isUsable ? (kept as KeptDocument) : undefined
  } catch {
    return undefined
  }
}

/** A cache that cannot be written is only slower. */
const keep = async (folder: string, file: string, kept: KeptDocument): Promise<void> => {
  const draft = `${file}.${process.pid}`
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(draft, JSON.stringify(kept), { mode: 0o600 })
    await rename(draft, file)
  } catch {}
}
