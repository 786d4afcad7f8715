import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { importFiles } from '../../shared/import-files.ts'
import type { Source } from './source.ts'

const FOLDER = join(import.meta.dirname, 'sources')

const loadSources = async (): Promise<readonly Source[]> => {
  const files = readdirSync(FOLDER)
    .filter(file => file.endsWith('.ts'))
    .toSorted()
  const exported = await importFiles<{ default: Source }>(files.map(file => join(FOLDER, file)))
  return exported.map(({ default: source }, at) => {
    if (source.id === basename(files[at] ?? '', '.ts')) return source
    throw new TypeError(`${files[at]} declares ${source.id}: a file has the name of its source`)
  })
}

/** All outside sources, one file each in `sources`, by id. */
export const SOURCES = await loadSources()
