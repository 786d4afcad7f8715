import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { AREAS, ROOT, RULES } from './table.ts'

/** One import of a file. */
export interface Import {
  /** Path from the root of the tree: `coordinator/access/keys/keys.ts`. */
  file: string
  /** Path from the root of the tree, or the name of a package or of a part of Node. */
  target: string
  /** True for an import of types, which does not exist when the program runs. */
  isType: boolean
}

/** Folders whose files are read; nothing else in the tree is a program. */
const FOLDERS =
  'bench,bin,clients,coordinator,daemon,devices,discovery,examples,models,packaging,shared,test'

const IMPORT =
  /^\s*(?:import|export)\s+(type\s)?[^'"`;=()]*?from\s+'([^']+)'|^\s*import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm

/** Every import of every TypeScript file below `root`, in the order of their paths. */
export const listImports = (root: string): Import[] =>
  globSync(`{${FOLDERS}}/**/*.ts`, { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] })
    .toSorted()
    .flatMap(file => readImports(root, file))

const readImports = (root: string, file: string): Import[] => {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(IMPORT)].map(([, type, from, bare, called]) => ({
    file,
    target: resolveTarget(root, file, from ?? bare ?? called ?? ''),
    isType: type !== undefined,
  }))
}

const resolveTarget = (root: string, file: string, specifier: string): string =>
  specifier.startsWith('.')
    ? relative(root, resolve(root, dirname(file), specifier))
    : specifier.replace(/^((?:@[^/]+\/)?[^/]+).*/, '$1')

/** Line that names the file, the import and the violated rule; undefined for an allowed import. */
export const judgeImport = ({ file, target }: Import): string | undefined => {
  const reason = judgeFolder(file, target) ?? judgeArea(file, target)
  return reason === undefined ? undefined : `${file} imports ${target}: ${reason}`
}

const judgeFolder = (file: string, target: string): string | undefined => {
  const rule = RULES.filter(({ folder }) => isWithin(file, folder)).toSorted(
    (a, b) => b.folder.length - a.folder.length,
  )[0]
  return rule?.forbidden.some(each => isWithin(target, each)) ? rule.why : undefined
}

const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`)

const judgeArea = (file: string, target: string): string | undefined => {
  const [from, to] = [placeOf(file), placeOf(target)]
  if (from === undefined || to === undefined || from === to) return undefined
  if (!AREAS.includes(from as never)) return undefined
  if (isRoot(to)) return 'no area imports the program that composes it'
  const at = AREAS.indexOf(from as never)
  const isEarlier = AREAS.slice(0, at).includes(to as never)
  return isEarlier ? undefined : `${from} imports only ${AREAS.slice(0, at).join(', ') || 'itself'}`
}

/** First folder or file of a path below `coordinator/`: an area or an entry of ROOT. */
export const placeOf = (path: string): string | undefined => /^coordinator\/([^/]+)/.exec(path)?.[1]

const isRoot = (place: string): boolean => ROOT.includes(place as never)

/** Files of the coordinator that lie neither in an area nor in the root. */
export const listStrangers = (files: readonly string[]): string[] =>
  files.filter(file => {
    const place = placeOf(file) ?? ''
    return !AREAS.includes(place as never) && !isRoot(place)
  })

/** First cycle of value imports found, as its files in order; undefined when there is none. */
export const findCircle = (imports: readonly Import[]): string[] | undefined => {
  const values = imports.filter(({ isType }) => !isType)
  const targets = Map.groupBy(values, ({ file }) => file)
  const done = new Set<string>()
  const way: string[] = []
  const visit = (file: string): string[] | undefined => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file]
    if (done.has(file)) return undefined
    way.push(file)
    for (const { target } of targets.get(file) ?? []) {
      const circle = visit(target)
      if (circle !== undefined) return circle
    }
    way.pop()
    done.add(file)
    return undefined
  }
  for (const file of targets.keys()) {
    const circle = visit(file)
    if (circle !== undefined) return circle
  }
  return undefined
}
