import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import type { Api } from './api.ts'

const PATH = '/v1/openapi.json'

const Kept = z.object({ etag: z.string().optional(), body: z.unknown() })

/** The folder of the XDG base directory specification; only its owner may write there. */
export const cacheFolder = (env: Record<string, string | undefined>): string =>
  join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'shoal')

/**
 * Loads the coordinator's API document. It is revalidated every time and sent only when it changed;
 * the cached copy is used while the coordinator is unreachable. The cache is optional.
 */
export const loadDocument = async (api: Api, url: string, folder: string): Promise<unknown> => {
  const file = fileOf(folder, url)
  const kept = await read(file)
  try {
    const fresh = await api.getIfChanged(PATH, kept?.etag)
    if (fresh === undefined) return kept?.body
    await keep(folder, file, JSON.stringify(fresh))
    return fresh.body
  } catch (error) {
    const away = error instanceof ShoalError && error.code === 'coordinator_unavailable'
    if (away && kept !== undefined) return kept.body
    throw error
  }
}

/** Cached document, without a request; undefined when there is none. */
export const keptDocument = async (url: string, folder: string): Promise<unknown> =>
  (await read(fileOf(folder, url)))?.body

const fileOf = (folder: string, url: string): string =>
  join(folder, `api-${createHash('sha256').update(url).digest('hex').slice(0, 16)}.json`)

const read = async (file: string): Promise<z.infer<typeof Kept> | undefined> => {
  try {
    return Kept.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    return undefined
  }
}

/** A cache that cannot be written is only slower. */
const keep = async (folder: string, file: string, text: string): Promise<void> => {
  const draft = `${file}.${process.pid}`
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(draft, text, { mode: 0o600 })
    await rename(draft, file)
  } catch {}
}
