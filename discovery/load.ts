import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as z from 'zod'
import { importFiles } from '../shared/import-files.ts'
import {
  type DiscoveryModule,
  type LookupModule,
  MODULE_DOMAINS,
  type ModuleDomain,
  type ScanModule,
} from './module.ts'

const FOLDER = join(import.meta.dirname, 'modules')
const RUNS = join(import.meta.dirname, 'runs')

/** Loads the declarations of all modules, in the order of their domains. */
export const loadModules = async (): Promise<readonly DiscoveryModule[]> =>
  importModules(listFiles())

/** Loads the declaration of one module; undefined for an id that has none. */
export const findModule = async (id: string): Promise<DiscoveryModule | undefined> => {
  const file = listFiles().find(each => basename(each, '.ts') === id)
  return file === undefined ? undefined : (await importModules([file]))[0]
}

/** What the file of a program exports. */
interface ModuleProgram<Run> {
  default: Run
  /** Schema of the section `discovery.modules.<id>` in the configuration of a cell. */
  config?: z.ZodType
}

/** Loads the program of a module with its schema; undefined when it has none. */
export const loadProgram = async <Run>({
  domain,
  id,
}: Pick<DiscoveryModule, 'domain' | 'id'>): Promise<ModuleProgram<Run> | undefined> => {
  const file = join(RUNS, domain, `${id}.ts`)
  return existsSync(file) ? import(pathToFileURL(file).href) : undefined
}

/** Loads the program of a module; undefined when it has none. */
export const loadRun = async <Run>(
  module: Pick<DiscoveryModule, 'domain' | 'id'>,
): Promise<Run | undefined> => (await loadProgram<Run>(module))?.default

const rankOf = (file: string): number => MODULE_DOMAINS.indexOf(dirname(file) as ModuleDomain)

let files: readonly string[] | undefined

/** Files of declarations by domain and name, read once: each run of a module looks its file up. */
const listFiles = (): readonly string[] => {
  files ??= (existsSync(FOLDER) ? readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }) : [])
    .filter(file => file.endsWith('.ts'))
    .toSorted((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1))
  return files
}

const importModules = async (names: readonly string[]): Promise<readonly DiscoveryModule[]> => {
  const exported = await importFiles<{ default: ScanModule | LookupModule }>(
    names.map(name => join(FOLDER, name)),
  )
  return exported.map(({ default: module }, at) => {
    const name = names[at] ?? ''
    if (module.id !== basename(name, '.ts') || rankOf(name) === -1)
      throw new TypeError(`${name} declares ${module.id}: a file has the name of its module`)
    return { ...module, domain: dirname(name) as ModuleDomain }
  })
}
