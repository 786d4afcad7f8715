import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Source } from './source.ts'

const FOLDER = join(import.meta.dirname, 'sources')

const loadSource = async (file: string): Promise<Source> => {
  const { default: source } = (await import(pathToFileURL(join(FOLDER, file)).href)) as {
    default: Source
  }
  if (source.id !== basename(file, '.ts'))
    throw new TypeError(`${file} declares ${source.id}: a file has the name of its source`)
  return source
}

/** All outside sources, one file each in `sources`, by id. */
export const SOURCES: readonly Source[] = await Promise.all(
  readdirSync(FOLDER)
    .filter(file => file.endsWith('.ts'))
    .toSorted()
    .map(loadSource),
)
