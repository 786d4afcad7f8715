import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
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
export const loadModules = async (): Promise<readonly DiscoveryModule[]> => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .toSorted((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1))
  return Promise.all(files.map(loadModule))
}

/** Loads the program of a module; undefined when it has none. */
export const loadRun = async <Run>({
  domain,
  id,
}: Pick<DiscoveryModule, 'domain' | 'id'>): Promise<Run | undefined> => {
  const file = join(RUNS, domain, `${id}.ts`)
  if (!existsSync(file)) return undefined
  return ((await import(pathToFileURL(file).href)) as { default: Run }).default
}

const rankOf = (file: string): number => MODULE_DOMAINS.indexOf(dirname(file) as ModuleDomain)

const loadModule = async (file: string): Promise<DiscoveryModule> => {
  const { default: module } = (await import(pathToFileURL(join(FOLDER, file)).href)) as {
    default: ScanModule | LookupModule
  }
  if (module.id !== basename(file, '.ts') || rankOf(file) === -1)
    throw new TypeError(`${file} declares ${module.id}: a file has the name of its module`)
  return { ...module, domain: dirname(file) as ModuleDomain }
}
