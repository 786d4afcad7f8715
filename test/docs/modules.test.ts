import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { isScan } from '../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../discovery/modules.ts'

const text = readFileSync(
  join(resolve(import.meta.dirname, '..', '..'), 'docs/discovery.md'),
  'utf8',
)

const namesIn = (cell: string): string[] =>
  [...cell.matchAll(/[`]([^`]+)[`]/g)].map(([, name = '']) => name.split(' ')[0] ?? '')

/** Inputs of a cell: those in brackets are optional. */
const readInputs = (cell: string) => ({
  all: namesIn(cell).toSorted(),
  optional: namesIn(cell.replaceAll(/(^|\])[^[]*/g, ' ')).toSorted(),
})

t.test('docs/discovery.md lists every module as it is declared', async t => {
  for (const module of DISCOVERY_MODULES)
    t.test(module.id, async t => {
      const row = text.split('\n').find(line => line.startsWith(`| \`${module.id}\` `)) ?? ''
      const [, title = '', ...cells] = row.split('|').map(cell => cell.trim())
      const shape = Object.entries(module.input.shape as Record<string, { safeParse: Parse }>)
      const inputs = readInputs(cells[isScan(module) ? 1 : 0] ?? '')
      t.strictSame(inputs.all, shape.map(([name]) => name).toSorted())
      const needed = inputs.all.filter(name => !inputs.optional.includes(name))
      t.equal(needed.length === 0, module.input.safeParse({}).success, 'brackets are optional')
      if (!isScan(module)) return t.equal(title.endsWith('*'), module.access === 'operator')
      t.equal(cells[0], `\`${module.reach}\``)
      const minutes = (module.autoRun?.everySeconds ?? 0) / 60
      t.equal(cells[4], minutes === 0 ? '' : `${minutes} min`)
    })
})

type Parse = (value: unknown) => { success: boolean }
