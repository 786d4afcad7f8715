import t from 'tap'
import { createFleetIdentity } from '../../coordinator/fleet-identity.ts'
import { openSigning } from '../../coordinator/keys/signing.ts'
import { silent } from '../support/cell.ts'
import { auditRows } from './keys/fixtures.ts'
import { temporaryFolder, temporaryStore } from './store/temporary.ts'

t.test('the signing key is not replaced while the audit is in doubt', async t => {
  const store = await temporaryStore(t)
  const signing = await openSigning(await temporaryFolder(t))
  const identity = createFleetIdentity({
    ...{ signing, store, logger: silent, fingerprint: () => undefined },
    bus: { publish: async () => {} },
    fleet: { cells: () => [].values() },
  } as never)
  const first = signing.publicKey
  t.not((await identity.rotateKey({ actor: 'key:a' })).signing_key, first)
  const row = (await auditRows(store)).at(-1)
  t.match(row, { action: 'signing_key.rotate', actor: 'key:a' })
  t.match(JSON.stringify(row), first)

  const second = signing.publicKey
  store.ledger.freeze('in doubt')
  await t.rejects(identity.rotateKey({ actor: 'key:a' }), { code: 'audit_broken' })
  t.equal(signing.publicKey, second)
})
