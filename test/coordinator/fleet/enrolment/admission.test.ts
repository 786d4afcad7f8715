import t, { type Test } from 'tap'
import { Fleet } from '../../../../coordinator/fleet/cells/fleet.ts'
import { CellAdmission } from '../../../../coordinator/fleet/enrolment/admission.ts'
import { Cells } from '../../../../coordinator/fleet/enrolment/cells.ts'
import { createClones } from '../../../../coordinator/fleet/enrolment/clones.ts'
import { ConnectLimit } from '../../../../coordinator/fleet/enrolment/connect-limit.ts'
import { createToken } from '../../../../coordinator/fleet/enrolment/join-tokens.ts'
import { createSigner, generatePrivateKey } from '../../../../shared/signing.ts'
import { type Announce, ENROL_PURPOSE } from '../../../../shared/wire/announce.ts'
import { silent } from '../../../support/cell.ts'
import { auditRows } from '../../access/keys/fixtures.ts'
import { BY, temporaryStore } from '../../kernel/store/temporary.ts'

/** A real store with one cell, and what was published and dropped. */
const createAdmissionScene = async (t: Test) => {
  const store = await temporaryStore(t)
  let now = Date.now()
  const clock = { ms: 0 }
  const published: unknown[] = []
  const cells = new Cells({
    store,
    addEvents: async (_trx, drafts) => {
      for (const { type, data, subject } of drafts) published.push([type, data, subject])
    },
    now: () => now,
  })
  const limits = { suspectAfterMs: 7500, deadAfterMs: 12_000 }
  const fleet = new Fleet({ limits, nowMs: () => 0, onPresenceChange: () => {} })
  const dropped: string[] = []
  const admission = new CellAdmission({
    cells,
    fleet,
    drop: id => {
      dropped.push(id)
      fleet.forget(id)
    },
    clones: createClones(() => 0),
    starts: { noteConnection: () => {}, erase: async () => {} },
    connects: new ConnectLimit(() => clock.ms),
    signing: createSigner(generatePrivateKey()),
    logger: silent,
  })
  const { secret } = await createToken(store.ledger, { uses: 1, ttlMinutes: 1 }, BY)
  const signer = createSigner(generatePrivateKey())
  const claim = { token: secret, name: 'n', public_key: signer.publicKey }
  const request = { ...claim, proof: signer.sign(ENROL_PURPOSE, claim) }
  const enrol = () => admission.enrol(request)
  const { cell_id: id, credential } = await enrol()

  /** What a start of a daemon does: it shows its credential and, if that is good, has arrived. */
  const comes = async (bootId: string, secret: string): Promise<string> => {
    try {
      const cell = await admission.authenticate(id, secret, { bootId, address: `at ${bootId}` })
      if (cell === undefined) return 'refused'
      admission.noteArrival(id, bootId)
      return 'in'
    } catch (error) {
      return (error as Error).message.includes('quarantine') ? 'quarantine' : 'failed'
    }
  }
  const renew = () => {
    now += 60_000
    return cells.renew(id)
  }
  const quarantines = async () =>
    (await auditRows(store)).filter(({ action }) => action === 'cell.quarantine')
  const parts = { clock, store, cells, fleet, admission, dropped, published }
  return { ...parts, id, credential, enrol, comes, renew, quarantines }
}

t.test('a cell whose disk was restored from a backup is accepted after its release', async t => {
  const { id, cells, fleet, admission, dropped } = await createAdmissionScene(t)
  const birth = (epoch: number) => {
    fleet.birth(id, epoch, { name: 'n', engines: [] } as unknown as Announce)
    return fleet.cell(id)?.epoch
  }
  t.equal(birth(40), 40)
  await cells.noteEpoch(id, 40)
  await t.rejects(admission.release(id, BY), { code: 'conflict' }, 'nothing is wrong yet')
  t.equal(birth(2), 40, 'it is not heard')
  t.match(await admission.release(id, BY), { epoch: 0 })
  t.strictSame(dropped, [id], 'it must come anew')
  t.equal(birth(3), 3)
})

t.test('a superseded credential', async t => {
  t.test('is valid until the new one was used, and then evidence of a copy', async t => {
    const { id, credential, comes, renew, published, quarantines, cells } =
      await createAdmissionScene(t)
    t.equal(await comes('own', credential), 'in')
    const next = await renew()
    t.equal(await comes('own', credential), 'in', 'the new one was not used yet')
    t.equal(await comes('own', next), 'in')
    t.equal(await comes('copy', credential), 'quarantine')
    t.equal(await comes('own', next), 'quarantine', 'nobody knows which of the two is real')
    await t.resolves(waitForQuarantine(cells, id))
    const reason = 'a superseded credential was presented'
    t.match(await quarantines(), [
      { actor: 'coordinator', subject: id, details: { reason, address: 'at copy' } },
    ])
    t.match(published.at(-1), ['shoal.cell.quarantined', { reason, address: 'at copy' }, id])
    t.equal(await comes('copy', credential), 'quarantine', 'it is told why')
    t.equal((await quarantines()).length, 1, 'and fills no audit')
  })

  t.test('is evidence also after further renewals, and after a release', async t => {
    const { id, credential, comes, renew, admission, cells, quarantines } =
      await createAdmissionScene(t)
    const second = await renew()
    t.equal(await comes('own', second), 'in')
    const third = await renew()
    t.equal(await comes('own', third), 'in')
    t.equal(await comes('copy', credential), 'quarantine')
    await waitForQuarantine(cells, id)
    await admission.release(id, BY)
    t.equal(await comes('own', third), 'in')
    t.equal(await comes('copy', second), 'quarantine')
    await waitForQuarantine(cells, id)
    t.equal((await quarantines()).length, 2)
  })

  t.test('does not affect the start that has replaced it', async t => {
    const { credential, comes, renew } = await createAdmissionScene(t)
    t.equal(await comes('own', credential), 'in')
    const next = await renew()
    t.equal(await comes('own', next), 'in')
    t.equal(await comes('own', credential), 'refused', 'a question that was under way')
    t.equal(await comes('own', next), 'in')
  })

  t.test('is only refused where the start does not identify itself', async t => {
    const { id, credential, comes, renew, admission } = await createAdmissionScene(t)
    const next = await renew()
    t.equal(await comes('own', next), 'in')
    t.equal(await admission.authenticate(id, credential), undefined)
    t.equal(await comes('own', next), 'in')
  })

  t.test('that was never used is not evidence: a crash may have left it behind', async t => {
    const { credential, comes, renew } = await createAdmissionScene(t)
    const lost = await renew()
    const next = await renew()
    t.equal(await comes('restarted', lost), 'refused')
    t.equal(await comes('restarted', credential), 'in')
    t.equal(await comes('restarted', next), 'in')
    t.equal(await comes('restarted again', lost), 'refused')
    t.equal(await comes('restarted again', next), 'in')
  })

  t.test("from before the cell's first connection is evidence after it", async t => {
    const { credential, comes, enrol } = await createAdmissionScene(t)
    const again = (await enrol()).credential
    t.equal(await comes('other', credential), 'refused')
    t.equal(await comes('own', again), 'in')
    t.equal(await comes('other', credential), 'quarantine')
  })

  t.test('is not evidence once its cell is revoked, and neither is a guess', async t => {
    const { credential, comes, renew, admission, id, quarantines } = await createAdmissionScene(t)
    t.equal(await comes('own', await renew()), 'in')
    for (const secret of ['x', `${credential.slice(1)}x`, 'y'.repeat(43)])
      t.equal(await comes('guess', secret), 'refused')
    await admission.revoke(id, BY)
    t.equal(await comes('copy', credential), 'refused')
    t.strictSame(await quarantines(), [])
  })
})

const waitForQuarantine = async (cells: Cells, id: string): Promise<void> => {
  while ((await cells.get(id))?.quarantinedAt === undefined)
    await new Promise(resolve => setImmediate(resolve))
}

t.test('a cell that two coordinators quarantine in the same moment is reported once', async t => {
  const { id, cells, published } = await createAdmissionScene(t)
  await Promise.all(['one', 'other'].map(reason => cells.quarantine(id, reason)))
  t.strictSame(published, [
    ['shoal.cell.enrolled', { name: 'n' }, id],
    ['shoal.cell.quarantined', { reason: 'one' }, id],
  ])
})

t.test('only the cell in a reconnect loop is throttled', async t => {
  const { id, admission, clock } = await createAdmissionScene(t)
  for (let n = 0; n < 60; n++) {
    admission.noteConnection(id, 'own')
    clock.ms += 100
  }
  t.throws(() => admission.noteConnection(id, 'own'), {
    code: 'rate_limited',
    retryAfterSeconds: 54,
  })
  // a whole fleet comes back in one instant
  for (let n = 0; n < 10_000; n++) admission.noteConnection(`cell_${n}`, 'first')
  clock.ms += 54_000
  admission.noteConnection(id, 'own')
})
