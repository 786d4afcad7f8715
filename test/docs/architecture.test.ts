import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { AREAS } from '../../bin/arrows/table.ts'

const root = resolve(import.meta.dirname, '..', '..')
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')

const files = globSync('{bin,coordinator,daemon,shared,devices,discovery,clients}/**/*.ts', {
  cwd: root,
})

/** True when a path, or the end of one, names a file or a folder of the tree. */
const isInTree = (path: string): boolean =>
  files.some(file => `/${file}`.replace(/\.ts$/, '/').includes(`/${path.replace(/\.ts$/, '')}/`))

/** Paths in backquotes whose first part is a folder of the tree; others are routes and protocols. */
const listPaths = (): string[] => {
  const folders = new Set(files.flatMap(file => file.split('/').slice(0, -1)))
  const paths = [...page.matchAll(/`([a-z][a-z0-9-]*(?:\/[a-z0-9-]+)+(?:\.ts)?)`/g)]
  return paths.map(([, path = '']) => path).filter(path => folders.has(path.split('/')[0] ?? ''))
}

t.test('every file that the architecture names is in the tree', async t => {
  const paths = listPaths()
  t.ok(paths.length > 30, `${paths.length} paths`)
  t.strictSame(
    paths.filter(path => !isInTree(path)),
    [],
  )
})

t.test('the architecture describes each area, in the order of the imports', async t => {
  const table = page.slice(page.indexOf('| area | contents |'), page.indexOf('A folder in an area'))
  const described = [...table.matchAll(/^\| `([a-z]+)` \|/gm)].map(([, name]) => name)
  t.strictSame(described, [...AREAS])
})
