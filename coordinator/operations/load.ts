import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { importFiles } from '../../shared/import-files.ts'
import type { Operation } from './operation.ts'

/**
 * Every declaration in the folders of `folder`, sorted by its own folder and name, what lists and
 * shows first: one file declares one, as its default export and under its own name, or a list of
 * them whose names begin with its own. Files without a default export help the others. Throws when
 * a file declares something under another name than its own, or two declare the same.
 */
export const loadDeclared = async <T extends Operation>(folder: string): Promise<readonly T[]> => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => file.includes('/') && file.endsWith('.ts'))
    .sort((a, b) => (place(a) < place(b) ? -1 : 1))
  const exported = await importFiles<Exports<T>>(files.map(file => join(folder, file)))
  const declared = exported.map((each, at) => listDeclared(each, files[at] ?? ''))
  const all = declared.flatMap((each, at) =>
    each.map(one => ({ group: basename(dirname(files[at] ?? '')), ...one })),
  )
  const ids = all.map(({ id }) => id)
  const twice = ids.find((id, at) => ids.indexOf(id) !== at)
  if (twice !== undefined) throw new TypeError(`${twice} is declared twice below ${folder}`)
  return all
}

/** Sort key of a file. */
const place = (file: string): string => {
  const rank = file.endsWith('-list.ts') ? 0 : file.endsWith('-show.ts') ? 1 : 2
  return `${dirname(file)} ${rank} ${file}`
}

const listDeclared = <T extends Operation>(
  { default: declared }: Exports<T>,
  file: string,
): readonly T[] => {
  const name = basename(file, '.ts')
  if (Array.isArray(declared)) return requirePrefix(declared, file, name)
  if (declared !== undefined && declared.id !== name)
    throw new TypeError(`${file} declares ${declared.id}: the file must have its name`)
  return declared === undefined ? [] : [declared]
}

interface Exports<T> {
  default?: T | T[]
}

const requirePrefix = <T extends Operation>(list: readonly T[], file: string, name: string) => {
  const other = list.find(({ id }) => !id.startsWith(`${name}-`))
  if (other === undefined) return list
  throw new TypeError(`${file} declares ${other.id}: names in a list begin with that of its file`)
}
