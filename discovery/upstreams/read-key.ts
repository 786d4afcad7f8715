import { readFile } from 'node:fs/promises'
import { UpstreamError } from './client.ts'
import type { UpstreamSettings } from './settings.ts'
import type { Source } from './source.ts'

/** Characters of a key: those of a header value (RFC 9110, 5.5) without blanks. */
const KEY = /^[\x21-\x7e]{1,4096}$/

/**
 * Reads the key of a source from the configuration or its file, which is read for each request: a new
 * key needs no restart. The message of a failure repeats nothing of it.
 */
export const createReadKey =
  (readSettings: () => Pick<UpstreamSettings, 'sources'>) =>
  async ({ id: own, key: facts }: Pick<Source, 'id' | 'key'>): Promise<string | undefined> => {
    const id = facts?.sharedWith ?? own
    const { key, key_file } = readSettings().sources[id] ?? {}
    if (key === undefined && key_file === undefined) return undefined
    const text = key ?? (await readFile(key_file ?? '', 'utf8').catch(() => ''))
    const found = text.trim()
    if (KEY.test(found)) return found
    const where = key === undefined ? 'key_file' : 'key'
    throw new UpstreamError(id, 'auth_missing', `upstreams.sources.${id}.${where} has no key`)
  }
