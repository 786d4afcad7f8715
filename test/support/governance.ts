import type { Test } from 'tap'
import { shippedGates } from '../../coordinator/gates/definition.ts'
import { createGates } from '../../coordinator/gates/gates.ts'
import { loadPolicy, SHIPPED_POLICY_FILE } from '../../coordinator/gates/policy.ts'
import { bootstrap } from '../../coordinator/keys/bootstrap.ts'
import { createCells } from '../../coordinator/keys/cells.ts'
import { createKeys } from '../../coordinator/keys/keys.ts'
import { createPerson } from '../../coordinator/keys/people.ts'
import { createTenant } from '../../coordinator/keys/tenants.ts'
import type { Views } from '../../coordinator/operations/context.ts'
import { newPrivateKey, signerOf } from '../../shared/signing.ts'
import { logger } from '../coordinator/keys/fixtures.ts'
import { BY, temporaryStore } from '../coordinator/store/temporary.ts'
import { appWith, views } from './app.ts'

const definitions = shippedGates()

/** The server over a real store with the demo people, and a second tenant with its own operator. */
export const governanceScene = async (t: Pick<Test, 'teardown'>) => {
  const store = await temporaryStore(t)
  const { keys: demo } = await bootstrap(store)
  const now = () => Date.now()
  const keys = createKeys({ store, logger, now })
  await createTenant(store.ledger, { id: 'other', name: 'other' }, BY)
  await createPerson(store.ledger, { id: 'eve', tenantId: 'other', name: 'eve' }, BY)
  const spec = { tenantId: 'other', personId: 'eve', tier: 'enterprise' as const }
  const stranger = await keys.create({ ...spec, roles: ['client', 'operator_admin'] }, BY)
  const gates = createGates({
    ...{ store, definitions, now },
    signer: signerOf(newPrivateKey()),
    publish: () => ({}) as never,
  })
  const policy = loadPolicy(SHIPPED_POLICY_FILE, new Set(Object.keys(definitions)))
  const identity = { fingerprint: () => undefined } as unknown as Views['identity']
  const app = await appWith({
    keys,
    views: views({
      ...{ store, keys, gates, policy, identity, now },
      cells: createCells({ store, logger }),
      listens: { loopbackOnly: true, encrypted: false },
      auditDays: 400,
      declarations: {},
    }),
  })
  t.teardown(async () => {
    keys.close()
    await app.close()
  })
  const call = async (
    key: string,
    method: 'GET' | 'POST' | 'DELETE',
    url: string,
    body?: object,
  ) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
    const response = await app.inject({ method, url, headers, ...payload })
    return { status: response.statusCode, json: response.json() }
  }
  const text = async (key: string, url: string) => {
    const response = await app.inject({ url, headers: { authorization: `Bearer ${key}` } })
    return [response.headers['content-type'], response.body]
  }
  return { demo: { ...demo, stranger: stranger.secret }, call, text, keys, store }
}
