import { join } from 'node:path'
import t from 'tap'
import { Keys } from '../../coordinator/access/keys/keys.ts'
import { createTenant } from '../../coordinator/access/people/tenants.ts'
import type { Role } from '../../coordinator/kernel/declaration/key.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { silent } from '../support/cell.ts'
import { startStack, type TestStack } from '../support/stack.ts'
import { waitUntil } from '../support/wait-until.ts'

/** Two real cells, each with one slot and no queue of its own, behind a real coordinator. */
const stack: TestStack = await startStack({ cells: 2, inference: { slots: 1, queue_factor: 0 } })
t.teardown(stack.stop)

const chat = async (content: string, key = stack.keys.enterprise): Promise<Response> =>
  fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'model-a:7b',
      messages: [{ role: 'user', content }],
      max_tokens: 4,
    }),
  })

/** The cell that served it. */
const cellOf = async (response: Response): Promise<string | null> => {
  const text = await response.text()
  if (response.status !== 200) throw new Error(text)
  return response.headers.get('x-shoal-cell')
}

const operate = async (method: string, path: string, body?: object, key = stack.keys.operator) => {
  const response = await fetch(`${stack.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  return (await response.json()) as Record<string, unknown>
}

t.test('requests that no cell has room for are all answered, by both cells', async t => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => cellOf(await chat(`question ${i}`))),
  )
  t.equal(new Set(answers).size, 2)
})

t.test('a long prompt goes to the same cell again', async t => {
  const beginning = 'the same beginning of every turn '.repeat(130)
  const cells = new Set<string | null>()
  for (let turn = 0; turn < 6; turn++) {
    const response = await chat(beginning)
    // the demonstration model cannot read it whole; that is the cell's answer all the same
    await response.text()
    cells.add(response.headers.get('x-shoal-cell'))
  }
  t.match([...cells], [/^cell_/])
})

t.test('a dedicated cell serves no other tenant', async t => {
  const store = await openStore(join(stack.folder, 'coordinator'))
  const by = { actor: 'test' }
  await createTenant(store.ledger, { id: 'acme', name: 'Acme' }, by)
  const keys = new Keys({ store, logger: silent })
  const [demo] = await keys.list('all', { limit: 1 })
  const personId = demo?.personId ?? ''
  const roles: Role[] = ['operator_admin']
  const { secret } = await keys.create(
    { tenantId: 'demo', furtherTenants: ['acme'], personId, tier: 'enterprise', roles },
    by,
  )
  keys.close()
  await store.close()
  const { cells } = (await operate('GET', '/v1/cells')) as { cells: { id: string }[] }
  const [own = '', shared = ''] = cells.map(({ id }) => id)

  const listServingCells = async (): Promise<(string | null)[]> => {
    const seen = new Set<string | null>()
    for (let i = 0; i < 12; i++) seen.add(await cellOf(await chat(`question ${i}`)))
    return [...seen]
  }
  await operate('PUT', `/v1/cells/${own}/tenant`, { tenant_id: 'acme' }, secret)
  t.strictSame(await listServingCells(), [shared])
  await operate('PUT', `/v1/cells/${own}/tenant`, { tenant_id: 'demo', exclusive: true })
  t.strictSame(await listServingCells(), [own])
  t.match(await operate('GET', '/v1/routing?model=model-a%3A7b'), {
    pools: [
      { tenant_id: null, engines: [{ cell_id: shared }] },
      { tenant_id: 'demo', engines: [{ cell_id: own }] },
    ],
  })
  await operate('PUT', `/v1/cells/${own}/tenant`, {})
  await waitUntil(
    'both cells serve everybody again',
    async () => (await listServingCells()).length === 2,
  )
})
