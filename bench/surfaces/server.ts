import * as z from 'zod'
import { defineSkill } from '../../coordinator/kernel/declaration/skill.ts'
import { BY } from '../../test/coordinator/kernel/store/temporary.ts'
import { a2aScene } from '../../test/support/a2a.ts'

/* The server with one skill that does nothing; prints its address and keys, ends on SIGTERM. */

const nothing = defineSkill({
  group: 'fleet',
  id: 'null-skill',
  name: 'Nothing',
  description: 'Do nothing.',
  tags: ['bench'],
  access: 'key',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({}),
  run: () => ({}),
})

const endings: (() => unknown)[] = []
const scene = await a2aScene(
  { teardown: (end: () => unknown) => void endings.push(end) } as never,
  { moreSkills: [nothing] },
)
/** Each may make 300 calls a minute. */
const count = Number(process.argv[2] ?? 1)
const { personId, tenantId } = await operator()
const keys: string[] = []
for (let n = 0; n < count; n++) {
  const spec = { tenantId, personId, tier: 'enterprise' as const }
  const made = await scene.keys.create({ ...spec, roles: ['client', 'operator_admin'] }, BY)
  keys.push(made.secret)
}
process.stdout.write(`${JSON.stringify({ url: scene.url, keys })}\n`)

async function operator() {
  const found = await scene.keys.authenticate(scene.demo.operator)
  if (found === undefined) throw new Error('there is no operator')
  return found
}

process.once('SIGTERM', async () => {
  for (const end of endings.reverse()) await end()
  process.exit(0)
})
