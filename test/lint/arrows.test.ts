import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { AREAS, RULES } from '../../bin/arrows/table.ts'
import { findCircle, judgeImport, listImports, listStrangers } from '../../bin/arrows/walk.ts'

const root = resolve(import.meta.dirname, '..', '..')

const imports = listImports(root)

t.test('no import goes against the table', async t => {
  t.ok(imports.length > 10_000, `${imports.length} imports`)
  t.strictSame(
    imports.flatMap(each => judgeImport(each) ?? []),
    [],
  )
})

t.test('no file imports itself through others', async t => {
  t.equal(findCircle(imports)?.join(' imports '), undefined)
})

t.test('everything in the coordinator is an area or composes them', async t => {
  const files = globSync('coordinator/**/*.ts', { cwd: root })
  t.strictSame(listStrangers(files), [])
})

t.test('an import against each rule is refused with its reason', async t => {
  for (const { folder, forbidden, why } of RULES)
    for (const target of forbidden)
      t.equal(
        judgeImport({ file: `${folder}/planted.ts`, target, isType: true }),
        `${folder}/planted.ts imports ${target}: ${why}`,
      )
  for (const [at, area] of AREAS.entries()) {
    const file = `coordinator/${area}/planted/open.ts`
    for (const [other, name] of AREAS.entries()) {
      const target = `coordinator/${name}/planted/view.ts`
      const refused = judgeImport({ file, target, isType: true })
      t.equal(refused === undefined, other <= at, `${area} to ${name}`)
    }
    t.match(judgeImport({ file, target: 'coordinator/config.ts', isType: true }), /no area imports/)
  }
})

t.test('a cycle of value imports is found, and one of type imports is allowed', async t => {
  const circle = (isType: boolean) =>
    findCircle([
      { file: 'a.ts', target: 'b.ts', isType: false },
      { file: 'b.ts', target: 'c.ts', isType: false },
      { file: 'c.ts', target: 'b.ts', isType },
    ])
  t.strictSame(circle(false), ['b.ts', 'c.ts', 'b.ts'])
  t.equal(circle(true), undefined)
})
