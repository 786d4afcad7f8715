import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
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
  if (file === undefined) return undefined
  const { default: probe } = (await import(pathToFileURL(file).href)) as { default: HostProbe }
  if (probe.id !== id)
    throw new TypeError(`${file} declares ${probe.id}: a file has the name of its probe`)
  return probe
}

export const loadHostProbes = async (): Promise<readonly HostProbe[]> => {
  found ??= findFiles()
  const probes = await Promise.all([...found.keys()].map(loadHostProbe))
  return probes.filter(probe => probe !== undefined)
}
