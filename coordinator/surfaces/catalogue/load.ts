import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { importFiles } from '../../../shared/import-files.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'

/** File pattern of the operations, below `operations` in the folder of their domain. */
const PLACES = '*/*/operations/**/*.ts'

/**
 * Every declaration below `folder`, sorted by its group and name, what lists and shows first: one
 * file declares one, as its default export and under its own name, or a list of them whose names
 * begin with its own. Files without a default export help the others. Throws when a file declares
 * something under another name than its own, or two declare the same.
 */
export const loadDeclared = async (folder: string): Promise<readonly Operation[]> => {
  const files = globSync(PLACES, { cwd: folder })
  const exported = await importFiles<Exports>(files.map(file => join(folder, file)))
  const all = exported
    .flatMap((each, at) => listDeclared(each, files[at] ?? ''))
    .toSorted((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ declared }) => declared)
  const ids = all.map(({ id }) => id)
  const twice = ids.find((id, at) => ids.indexOf(id) !== at)
  if (twice !== undefined) throw new TypeError(`${twice} is declared twice below ${folder}`)
  return all
}

/** Files below `folder` that declare operations, by their path from there. */
export const listDeclaring = (folder: string): string[] =>
  globSync(PLACES, { cwd: folder })
    .filter(file => readFileSync(join(folder, file), 'utf8').includes('export default '))
    .toSorted()

interface Exports {
  default?: Operation | Operation[]
}

/** A declaration with the key by which it is sorted. */
interface Placed {
  declared: Operation
  place: string
}

const listDeclared = ({ default: declared = [] }: Exports, file: string): Placed[] => {
  const name = basename(file, '.ts')
  return requireName(declared, file, name).map((one, at) => {
    const group = one.group ?? groupOf(file)
    return { declared: { ...one, group }, place: placeOf(group, name, at) }
  })
}

const requireName = (declared: Operation | Operation[], file: string, name: string) => {
  if (Array.isArray(declared)) return requirePrefix(declared, file, name)
  if (declared.id === name) return [declared]
  throw new TypeError(`${file} declares ${declared.id}: the file must have its name`)
}

const requirePrefix = (list: Operation[], file: string, name: string): Operation[] => {
  const other = list.find(({ id }) => !id.startsWith(`${name}-`))
  if (other === undefined) return list
  throw new TypeError(`${file} declares ${other.id}: names in a list begin with that of its file`)
}

/** The folder in which a file lies, or the domain whose operations these are. */
const groupOf = (file: string): string => {
  const folder = dirname(file)
  return basename(folder) === 'operations' ? basename(dirname(folder)) : basename(folder)
}

const placeOf = (group: string, name: string, at: number): string => {
  const rank = name.endsWith('-list') ? 0 : name.endsWith('-show') ? 1 : 2
  return `${group} ${rank} ${name}.ts ${String(at).padStart(4, '0')}`
}
