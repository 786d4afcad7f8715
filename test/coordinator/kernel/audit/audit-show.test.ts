import t from 'tap'
import { appendAudit } from '../../../../coordinator/kernel/audit/audit.ts'
import { createSigner, generatePrivateKey } from '../../../../shared/signing.ts'
import { signHead } from '../../../../shared/wire/audit-head.ts'
import { a2aScene, caller } from '../../../support/a2a.ts'

const hash = 'a'.repeat(64)
const head = signHead({ seq: 7, hash, at: 1000 }, createSigner(generatePrivateKey()))
const { url, demo, store } = await a2aScene(t, { views: { audit: { head: () => head } } })
const ask = caller(url, demo.operator).json

t.test('an audit row is shown by its number, unless it belongs to another tenant', async t => {
  const add = (tenant: string) =>
    store.ledger.sealed.write(trx =>
      appendAudit(trx, { actor: 'x', at: 1, tenant, action: 'a.b', subject: 's', outcome: 'done' }),
    )
  const own = await add('demo')
  const foreign = await add('other')
  const shown = await ask(`/v1/audit/${own.seq}`)
  t.match(shown, { status: 200, json: { seq: own.seq, hash: own.hash, tenant: 'demo' } })
  const absent = await ask('/v1/audit/900719925474')
  const hidden = await ask(`/v1/audit/${foreign.seq}`)
  t.equal(hidden.status, 404)
  t.strictSame(hidden.json.error.code, absent.json.error.code)
  t.equal(hidden.json.error.message, `no audit row ${foreign.seq}`)
  for (const wrong of ['0', '-1', '1.5', 'x', '1e400'])
    t.equal((await ask(`/v1/audit/${wrong}`)).status, 422, wrong)
})

t.test('the newest signed head is returned as it was signed', async t => {
  const { status, json } = await ask('/v1/audit/head')
  t.equal(status, 200)
  const { seq, key_id, signature } = head
  const signed_at = '1970-01-01T00:00:01.000Z'
  t.strictSame(json, { head: { seq, hash, key_id, signature, signed_at }, retention_days: 400 })
})
