import t from 'tap'
import * as z from 'zod'
import type { Base } from '../../../coordinator/kernel/base/base.ts'
import type { Context } from '../../../coordinator/kernel/declaration/context.ts'
import { defineSkill } from '../../../coordinator/kernel/declaration/skill.ts'
import { a2aScene, caller } from '../../support/a2a.ts'

interface LampViews {
  lamps: { turnOn(): number }
}

const closed: string[] = []

/** A domain: what it gives to operations, and its end. */
const openLamps = ({ stack }: Pick<Base, 'stack'>): { views: LampViews } => {
  let lit = 0
  stack.defer(() => void closed.push(`${lit} lamps`))
  return { views: { lamps: { turnOn: () => ++lit } } }
}

const lampsOn = defineSkill({
  group: 'fleet',
  id: 'lamps-on',
  name: 'Lamps on',
  description: 'Turn one more lamp on.',
  tags: ['test'],
  access: 'key',
  effect: 'write',
  input: z.strictObject({}),
  output: z.object({ lit: z.int() }),
  run: (_input, context) => ({ lit: (context as Context & LampViews).lamps.turnOn() }),
})

t.test('a new domain is one entry in the list of parts, and its skill one file', async t => {
  const { url, demo, close } = await a2aScene(t, {
    moreParts: [openLamps],
    moreSkills: [lampsOn],
  })
  const { json } = caller(url, demo.free)
  t.match(await json('/v1/skills/lamps-on', {}), { status: 200, json: { lit: 1 } })
  t.match(await json('/v1/skills/lamps-on', {}), { status: 200, json: { lit: 2 } })
  const { skills } = (await json('/v1/skills')).json
  t.ok(skills.some(({ id }: { id: string }) => id === 'lamps-on'))
  await close()
  t.strictSame(closed, ['2 lamps'])
})
