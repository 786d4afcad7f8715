import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { importFiles } from '../import-files.ts'
import type { HostProbe } from './probe.ts'

const FOLDER = join(import.meta.dirname, 'host')

let found: ReadonlyMap<string, string> | undefined

/** Maps the ids of probes to their files, sorted by id. */
const findFiles = (): ReadonlyMap<string, string> => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  const named = files
    .filter(file => file.endsWith('.ts'))
    .map(file => [basename(file, '.ts'), join(FOLDER, file)] as const)
  return new Map(named.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Loads one probe without the others. Undefined when no file has its name. */
export const loadHostProbe = async (id: string): Promise<HostProbe | undefined> => {
  found ??= findFiles()
  const file = found.get(id)
  return file === undefined ? undefined : (await importProbes([file]))[0]
}

export const loadHostProbes = async (): Promise<readonly HostProbe[]> => {
  found ??= findFiles()
  return importProbes([...found.values()])
}

const importProbes = async (files: readonly string[]): Promise<readonly HostProbe[]> => {
  const exported = await importFiles<{ default: HostProbe }>(files)
  return exported.map(({ default: probe }, at) => {
    const file = files[at] ?? ''
    if (probe.id === basename(file, '.ts')) return probe
    throw new TypeError(`${file} declares ${probe.id}: a file has the name of its probe`)
  })
}
