import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/* Which packages of npm a set of sources needs, from their imports and the lockfile. */

interface Locked {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

/** Folders below `root`, as the lockfile names them: `node_modules/a/node_modules/b`. */
export const closureOf = (root: string, names: Iterable<string>): string[] => {
  const text = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const locked: Record<string, Locked> = JSON.parse(text).packages
  const found = new Set<string>()

  const visit = (from: string, name: string): void => {
    const folder = resolvePackage(locked, from, name)
    // packages for other systems are in the lockfile and not on the disk
    if (folder === undefined || found.has(folder) || !existsSync(join(root, folder))) return
    found.add(folder)
    for (const wanted of listRequired(locked[folder] ?? {})) visit(folder, wanted)
  }

  for (const name of names) visit('', name)
  return [...found].sort()
}

/** Peers that a package can do without are left out. */
const listRequired = (locked: Locked): string[] => {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = locked
  const peers = Object.keys(peerDependencies ?? {})
  return [
    ...Object.keys({ ...dependencies, ...optionalDependencies }),
    ...peers.filter(name => peerDependenciesMeta?.[name]?.optional !== true),
  ]
}

/** Resolves a package as Node does: beside the importing package, then one level up, and so on. */
const resolvePackage = (
  locked: Record<string, Locked>,
  from: string,
  name: string,
): string | undefined => {
  for (let at = from; ; at = at.slice(0, at.lastIndexOf('node_modules/')).replace(/\/$/, '')) {
    const folder = `${at === '' ? '' : `${at}/`}node_modules/${name}`
    if (folder in locked) return folder
    if (at === '') return undefined
  }
}

/** The packages that sources import by name. */
export const importsOf = (root: string, sources: Iterable<string>): Set<string> => {
  const names = new Set<string>()
  for (const path of [...sources].flatMap(source => filesIn(root, source)))
    if (/\.(ts|mjs)$/.test(path))
      for (const [, , name = ''] of readFileSync(join(root, path), 'utf8').matchAll(IMPORT))
        if (!name.startsWith('node:'))
          names.add(name.split('/', name.startsWith('@') ? 2 : 1).join('/'))
  return names
}

const IMPORT = /\b(from|import|import\()\s*'([@a-z][^']*)'/g

/** All files below a file or folder, relative to `root`; none when it does not exist. */
export const filesIn = (root: string, source: string): string[] => {
  const path = join(root, source)
  if (!existsSync(path)) return []
  if (statSync(path).isFile()) return [source]
  return readdirSync(path).flatMap(name => filesIn(root, join(source, name)))
}
