import { operations } from '../../coordinator/operations/index.ts'
import { type Operation, pathFields } from '../../coordinator/operations/operation.ts'
import { skills } from '../../coordinator/skills/index.ts'
import type { governanceScene } from './governance.ts'

/** Ids that name something of one tenant. */
const OWNED = ['request_id', 'key_id'] as const
type Owned = (typeof OWNED)[number]
/** Ids of what the whole service shares; operators of every tenant may see it. */
const SHARED = [
  'cell_id',
  'token_id',
  'command_id',
  'skill_id',
  'gate_id',
  'tag',
  'model',
  'alert_id',
]

/** Fields in paths of which nobody has said whose they are. */
export const undecidedFields = (): string[] =>
  [...operations, ...skills]
    .flatMap(({ path }) => pathFields(path))
    .filter(field => !SHARED.includes(field) && !(OWNED as readonly string[]).includes(field))

/** Operations that take an id of a tenant's. */
export const ownedOperations = (): { operation: Operation; field: Owned }[] =>
  operations.flatMap(operation =>
    pathFields(operation.path)
      .filter((field): field is Owned => (OWNED as readonly string[]).includes(field))
      .map(field => ({ operation, field })),
  )

type Scene = Awaited<ReturnType<typeof governanceScene>>
type Below = (limit: number) => number

const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz'
const absentLike = (id: string, below: Below): string => {
  const [prefix = '', rest] = id.includes('_') ? id.split('_') : ['', id]
  const random = Array.from({ length: rest?.length ?? 8 }, () => LETTERS[below(LETTERS.length)])
  return (prefix === '' ? '' : `${prefix}_`) + random.join('')
}

/**
 * So many random reads and writes by a stranger with ids of another tenant. Answers what went wrong:
 * something else than 404, or an answer that differs from that for an id that does not exist.
 */
export const foreignCalls = async (
  { demo, call }: Scene,
  { count, below }: { count: number; below: Below },
): Promise<string[]> => {
  const ids: Record<Owned, string[]> = { request_id: [], key_id: [] }
  for (let n = 0; n < 5; n++) {
    const asked = await call(demo.operator, 'POST', '/v1/keys', { tier: 'free', label: `k${n}` })
    ids.request_id.push(asked.json.request_id)
  }
  const { keys } = (await call(demo.operator, 'GET', '/v1/keys')).json
  ids.key_id.push(...keys.map(({ id }: { id: string }) => id))
  const owned = ownedOperations()
  const faults: string[] = []
  for (let n = 0; n < count; n++) {
    const { operation, field } = owned[below(owned.length)] as (typeof owned)[number]
    const foreign = ids[field][below(ids[field].length)] as string
    const absent = absentLike(foreign, below)
    const at = async (id: string) => {
      const path = operation.path.replace(`{${field}}`, id).replace(/\{\w+\}/g, 'x')
      const body = operation.method === 'POST' ? { plan: n, reason: 'x' } : undefined
      const wanted = Object.keys(operation.input.shape)
      const fitting =
        body && Object.fromEntries(Object.entries(body).filter(([name]) => wanted.includes(name)))
      const answer = await call(demo.stranger, operation.method as 'GET', path, fitting)
      return { ...answer, text: JSON.stringify(answer.json).replaceAll(id, 'ID') }
    }
    const [theirs, nothing] = [await at(foreign), await at(absent)]
    if (theirs.status !== 404 || theirs.text !== nothing.text)
      faults.push(`${operation.id}: ${theirs.status} ${theirs.text} but ${nothing.text}`)
  }
  return faults
}
