import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { AROUND, ARROWS, DOMAINS, listOverrides } from '../../bin/arrows/table.ts'

const root = resolve(import.meta.dirname, '..', '..')

type Arrow = readonly [folder: string, from: string]

/**
 * Plants one import per arrow into a tree that has our lint rules, the imports of a folder in one
 * file, and returns those that are refused.
 */
const findRefused = (t: Test, arrows: readonly Arrow[]): readonly Arrow[] => {
  const tree = mkdtempSync(join(tmpdir(), 'shoal-arrows-'))
  t.teardown(() => rmSync(tree, { recursive: true }))
  copyFileSync(join(root, 'biome.json'), join(tree, 'biome.json'))
  const folders = Map.groupBy(arrows, ([folder]) => folder)
  for (const [folder, own] of folders) {
    mkdirSync(join(tree, folder), { recursive: true })
    const lines = own.map(([, from], at) => `import * as planted${at} from '${from}'\n`)
    writeFileSync(join(tree, folder, 'planted.ts'), lines.join(''))
  }
  const args = ['lint', '--reporter=github', '--max-diagnostics=none', '.']
  const { stdout } = spawnSync(join(root, 'node_modules/.bin/biome'), args, {
    cwd: tree,
    encoding: 'utf8',
  })
  const lines = stdout.split('\n').filter(line => line.includes('noRestrictedImports'))
  return lines.map(line => {
    const [, path = '', at] = /file=(.*)\/planted\.ts,line=(\d+)/.exec(line) ?? []
    return folders.get(relative(tree, path))?.[Number(at) - 1] ?? [path, line]
  })
}

t.test('the linter rules match the table; `npm run arrows` writes them', async t => {
  const { overrides: written } = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8'))
  t.strictSame(written, JSON.parse(JSON.stringify(listOverrides())))
})

/** A folder that a pattern of files covers. */
const folderOf = (include: string): string =>
  include.replace(/\/\*\*$|\/\*\.ts$/g, '').replaceAll('*', 'a-new-domain')

/** An import path that a forbidden pattern covers. */
const importOf = (pattern: string): string =>
  pattern.startsWith('**/') ? `../${pattern.slice(3).replace('/**', '/planted.ts')}` : pattern

const planted: Arrow[] = ARROWS.flatMap(({ includes: [include = ''], forbidden }) =>
  forbidden
    .flatMap(({ group }) => group.filter(pattern => !pattern.startsWith('!')))
    .map((pattern): Arrow => [folderOf(include), importOf(pattern)]),
)

t.test('an import against an arrow of the table is refused', async t => {
  const found = new Set(findRefused(t, planted))
  t.strictSame(
    planted.filter(arrow => !found.has(arrow)),
    [],
  )
})

t.test('every folder in the table exists', async t => {
  const names = new Set(readdirSync(join(root, 'coordinator')))
  t.strictSame(
    [...DOMAINS, ...AROUND].filter(name => !names.has(name)),
    [],
  )
})

const allowed: Arrow[] = [
  ['daemon', '../shared/ids.ts'],
  ['daemon/inference', '../../models/bundled.ts'],
  ['daemon/inference/child', 'node-llama-cpp'],
  ['daemon/helper/child', 'systeminformation'],
  ['coordinator/http', '../fleet/fleet.ts'],
  ['coordinator/fleet', '../../shared/ids.ts'],
  ['coordinator/fleet', '../../shared/metrics/metric.ts'],
  ['coordinator/gates', '../enrolment/cell.ts'],
  ['coordinator/gates/compliance', '../definition.ts'],
  ['coordinator/operations/audit', '../../audit/query.ts'],
  ['coordinator/a-new-domain', '../webhooks/webhooks.ts'],
  ['coordinator', './http/auth.ts'],
  ['clients/cli', '../../shared/errors.ts'],
]

t.test('an import along the arrows passes', async t => {
  t.strictSame(findRefused(t, allowed), [])
})
