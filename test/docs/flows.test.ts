import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { CoordinatorConfig } from '../../coordinator/config.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'flows.md'), 'utf8')

t.test('every configuration in docs/flows.md is accepted and names skills that exist', async t => {
  const blocks = [...page.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = '']) => text)
  t.equal(blocks.length, 3)
  for (const block of blocks) {
    const { flows } = CoordinatorConfig.parse(parse(block))
    for (const { steps } of Object.values(flows))
      for (const { skill } of steps)
        if (skill !== undefined)
          t.ok(
            skills.some(({ id }) => id === skill),
            skill,
          )
  }
})
