import t from 'tap'
import { newSecret, TOKEN_PREFIX } from '../../../../coordinator/access/keys/secret.ts'
import { createCellSettings } from '../../../../coordinator/fleet/enrolment/cell-settings.ts'
import { Cells } from '../../../../coordinator/fleet/enrolment/cells.ts'
import {
  createToken,
  listTokens,
  revokeToken,
} from '../../../../coordinator/fleet/enrolment/join-tokens.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { CELL_ID } from '../../../../shared/ids.ts'
import { createSigner, generatePrivateKey, type Signer } from '../../../../shared/signing.ts'
import { ENROL_PURPOSE } from '../../../../shared/wire/announce.ts'
import { auditRows, logger } from '../../access/keys/fixtures.ts'
import { BY, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

const token = async ({ ledger }: Store, uses = 1, now = Date.now()) =>
  createToken(ledger, { uses, ttlMinutes: 1 }, BY, now)

const enrolCell = async (store: Store) => {
  const cells = new Cells({ store, logger })
  const { secret } = await token(store)
  return { cells, ...(await cells.enrol({ token: secret, name: 'rack 1' })) }
}

t.test('enrolment', async t => {
  t.test('gives a cell an id and a credential, of which only a digest is stored', async t => {
    const store = await temporaryStore(t)
    const { cells, cellId, credential } = await enrolCell(store)
    t.match(cellId, CELL_ID)
    t.match(credential, /^[0-9A-Za-z]{43}$/)
    t.match(await cells.authenticate(cellId, credential), { id: cellId, name: 'rack 1', epoch: 0 })
    t.match(cells.authenticate(cellId, credential), { id: cellId })
    t.equal(await cells.authenticate(cellId, `${credential.slice(1)}x`), undefined)
    t.equal(await cells.authenticate('cell_unknown', credential), undefined)
    t.match(await cells.list(), [{ id: cellId }])
    const stored = JSON.stringify([
      await store.ledger.read.selectFrom('cells').selectAll().execute(),
      await auditRows(store),
    ])
    t.notOk(stored.includes(credential))
  })

  t.test('is audited with the token that it used', async t => {
    const store = await temporaryStore(t)
    const { cellId } = await enrolCell(store)
    const [made, used] = await auditRows(store)
    t.match(made, { actor: 'test', action: 'token.create', details: { uses: 1 } })
    t.match(used, { action: 'cell.enrol', subject: cellId, outcome: 'done' })
    t.equal(used?.actor, `token:${made?.subject}`)
  })

  t.test('works once for a single-use token, however many machines try at once', async t => {
    const folder = await temporaryFolder(t)
    const stores = [await temporaryStore(t, folder), await temporaryStore(t, folder)]
    const [first = await temporaryStore(t)] = stores
    const { secret } = await token(first)
    const tries = Array.from({ length: 100 }, (_, n) =>
      new Cells({ store: stores[n % 2] ?? first }).enrol({ token: secret, name: `cell ${n}` }),
    )
    const outcomes = await Promise.allSettled(tries)
    t.equal(outcomes.filter(outcome => outcome.status === 'fulfilled').length, 1)
    t.equal((await new Cells({ store: first }).list()).length, 1)
    t.match(await listTokens(first.ledger), [{ uses: 1, usesLeft: 0 }])
    const refused = (await auditRows(first)).filter(row => row.outcome === 'refused').length
    t.ok(refused >= 1 && refused <= 99, 'each of a hundred processes audits a reason once an hour')
  })

  t.test('is refused with one message for every bad token; the log has the reason', async t => {
    const store = await temporaryStore(t)
    const reasons: unknown[] = []
    let now = 1_000_000
    const cells = new Cells({
      store,
      now: () => now,
      logger: { warn: (fields: unknown) => reasons.push((fields as { reason: string }).reason) },
    })
    const refused = (secret: string) =>
      t.rejects(cells.enrol({ token: secret, name: 'x' }), {
        code: 'auth_required',
        message: 'the join token is not valid',
      })
    const usable = await token(store, 2, now)
    await refused('nonsense')
    await refused(newSecret(TOKEN_PREFIX).text)
    await refused(newSecret(TOKEN_PREFIX, usable.token.id).text)
    now = 1_059_999
    await cells.enrol({ token: usable.secret, name: 'in time' })
    now = 1_060_000
    await refused(usable.secret)
    now = 1_000_000
    t.match(await revokeToken(store.ledger, { id: usable.token.id }, BY), { revokedAt: Number })
    await refused(usable.secret)
    const over = 'expired, used up or revoked'
    t.strictSame(reasons, ['malformed', 'unknown', 'wrong secret', over, over])
    const audited = (await auditRows(store)).filter(row => row.outcome === 'refused')
    t.strictSame(
      audited.map(row => row.details.reason),
      ['wrong secret', over],
      'invented token ids leave no row, and a reason one an hour',
    )
    t.match(await listTokens(store.ledger), [{ usesLeft: 1 }], 'a refusal uses nothing up')
  })

  t.test('can be repeated after a lost answer, with the same key alone', async t => {
    const store = await temporaryStore(t)
    let now = Date.now()
    const cells = new Cells({ store, logger, now: () => now })
    const { secret } = await token(store, 1, now)
    const signClaim = (signer: Signer, name = 'rack 1') => {
      const claim = { token: secret, name, public_key: signer.publicKey }
      return { ...claim, proof: signer.sign(ENROL_PURPOSE, claim) }
    }
    const [own, other] = [createSigner(generatePrivateKey()), createSigner(generatePrivateKey())]
    const refused = { code: 'auth_required', message: 'the join token is not valid' }
    const lost = await cells.enrol(signClaim(own))
    await t.rejects(cells.enrol(signClaim(other)), refused)
    await t.rejects(cells.enrol({ token: secret, name: 'rack 1' }), refused, 'without a key')
    const again = await cells.enrol(signClaim(own))
    t.equal(again.cellId, lost.cellId)
    t.match(await cells.authenticate(again.cellId, again.credential), { id: lost.cellId })
    t.equal(await cells.authenticate(lost.cellId, lost.credential), undefined)
    t.equal((await cells.list()).length, 1)
    t.match((await auditRows(store)).at(-1), { action: 'cell.enrol', details: { again: true } })

    now += 60_000
    await t.rejects(cells.enrol(signClaim(own)), refused, 'the token has expired')
    now -= 60_000
    await cells.noteEpoch(again.cellId, 1)
    await t.rejects(cells.enrol(signClaim(own)), refused, 'the cell has come')
  })

  t.test('that is refused repeatedly is audited once an hour for each reason', async t => {
    const store = await temporaryStore(t)
    let now = 1_000_000
    const cells = new Cells({ store, logger, now: () => now })
    const { token: known } = await token(store, 1, now)
    const enrolWithBadToken = () =>
      cells.enrol({ token: newSecret(TOKEN_PREFIX, known.id).text, name: 'x' })
    const refusals = async () =>
      (await auditRows(store)).filter(row => row.outcome === 'refused').length
    for (let i = 0; i < 5; i++) await t.rejects(enrolWithBadToken(), { code: 'auth_required' })
    t.equal(await refusals(), 1)
    now += 3_600_000
    await t.rejects(enrolWithBadToken(), { code: 'auth_required' })
    t.equal(await refusals(), 2)
  })

  t.test('tokens need at least one use, and only a known token can be revoked', async t => {
    const { ledger } = await temporaryStore(t)
    for (const uses of [0, -1, 1.5, Number.NaN])
      await t.rejects(createToken(ledger, { uses, ttlMinutes: 1 }, BY), { code: 'invalid_request' })
    await t.rejects(revokeToken(ledger, { id: 'unknown' }, BY), { code: 'not_found' })
  })
})

t.test('a cell', async t => {
  t.test('that is revoked is refused at once', async t => {
    const store = await temporaryStore(t)
    const { cells, cellId, credential } = await enrolCell(store)
    await cells.authenticate(cellId, credential)
    t.match(await cells.revoke(cellId, BY), { revokedAt: Number })
    t.equal(await cells.authenticate(cellId, credential), undefined)
    t.match(await cells.get(cellId), { revokedAt: Number })
    await t.rejects(cells.revoke('cell_unknown', BY), { code: 'not_found' })
    t.match((await auditRows(store)).at(-1), { action: 'cell.revoke', subject: cellId })
  })

  t.test(
    'that another process revokes is refused after the next check, and this is reported',
    async t => {
      const folder = await temporaryFolder(t)
      const store = await temporaryStore(t, folder)
      const { cells, cellId, credential } = await enrolCell(store)
      await store.revisions.poll()
      await cells.authenticate(cellId, credential)
      let told = 0
      cells.onChange(() => told++)
      await new Cells({ store: await temporaryStore(t, folder) }).revoke(cellId, BY)
      await store.revisions.poll()
      t.equal(told, 1)
      t.equal(await cells.authenticate(cellId, credential), undefined)
    },
  )

  t.test('keeps the highest boot epoch that it has shown', async t => {
    const store = await temporaryStore(t)
    const { cells, cellId, credential } = await enrolCell(store)
    await cells.authenticate(cellId, credential)
    for (const [shown, highest] of [
      [3, 3],
      [2, 3],
      [3, 3],
      [7, 7],
    ] as const)
      t.equal(await cells.noteEpoch(cellId, shown), highest)
    await Promise.all([9, 12, 10].map(epoch => cells.noteEpoch(cellId, epoch)))
    t.equal(await cells.noteEpoch(cellId, 11), 12)
    t.match(await cells.get(cellId), { epoch: 12 })
    t.match(await cells.authenticate(cellId, credential), { epoch: 12 })
    await t.rejects(cells.noteEpoch('cell_unknown', 1), { code: 'not_found' })
  })
})

t.test(
  'a cell that cannot be read is named and left out, and one of unreadable settings drains',
  async t => {
    const store = await temporaryStore(t)
    const reasons: unknown[] = []
    const logger = {
      warn: (fields: unknown) => reasons.push((fields as { reason: string }).reason),
    }
    const { secret } = await token(store, 2)
    const cells = new Cells({ store, logger })
    const [one, two] = [
      (await cells.enrol({ token: secret, name: 'one' })).cellId,
      (await cells.enrol({ token: secret, name: 'two' })).cellId,
    ]
    const settings = createCellSettings(store, () => 7, logger)
    const labels = { rack: 'b' }
    for (const cellId of [one, two]) await settings.setLabels(cellId, labels, BY)
    await store.ledger.free.write(async trx => {
      await trx.updateTable('cells').set({ tags_json: '{' }).where('id', '=', one).execute()
      await trx
        .updateTable('cell_settings')
        .set({ labels_json: '[]' })
        .where('cell_id', '=', one)
        .execute()
    })
    t.match(await cells.list(), [{ id: two }])
    t.strictSame(
      await settings.list(),
      new Map([
        [one, { labels: {}, drainedAt: 0 }],
        [two, { labels }],
      ]),
    )
    t.match(reasons, [`cells (id ${one})`, `cell_settings (cell_id ${one})`])
  },
)

t.test('the key of a cell', async t => {
  const createClaim = async (store: Store, changes: object = {}) => {
    const { secret } = await token(store)
    const signer = createSigner(generatePrivateKey())
    const claim = { token: secret, name: 'n', public_key: signer.publicKey }
    return { signer, request: { ...claim, proof: signer.sign('enrol', claim), ...changes } }
  }

  t.test('is stored with the cell, and a replayed proof is refused', async t => {
    const store = await temporaryStore(t)
    const { signer, request } = await createClaim(store)
    const cells = new Cells({ store })
    const { cellId } = await cells.enrol(request)
    t.equal((await cells.get(cellId))?.publicKey, signer.publicKey)
    await cells.noteEpoch(cellId, 1)
    await t.rejects(cells.enrol(request), { code: 'auth_required' }, 'replayed')
  })

  for (const [what, changes] of [
    ['without a proof', { proof: undefined }],
    ['with the proof of another name', { name: 'other' }],
    ['with the proof of another key', { public_key: createSigner(generatePrivateKey()).publicKey }],
  ] as const)
    t.test(`${what} is refused, and the token stays valid`, async t => {
      const store = await temporaryStore(t)
      const { request } = await createClaim(store, changes)
      const cells = new Cells({ store })
      await t.rejects(cells.enrol(request), { code: 'invalid_request', param: 'proof' })
      t.match(await listTokens(store.ledger), [{ usesLeft: 1 }])
    })
})

t.test('a cell in quarantine', async t => {
  t.test('is notified until it is released', async t => {
    const store = await temporaryStore(t)
    const { cells, cellId, credential } = await enrolCell(store)
    t.match(await cells.quarantine(cellId, 'two machines'), { quarantinedAt: Number })
    const refused = { code: 'forbidden', message: /in quarantine: two machines use its identity/ }
    await t.rejects(async () => cells.authenticate(cellId, credential), refused)
    t.equal(await cells.authenticate(cellId, 'x'), undefined, 'only with its credential')
    t.equal((await cells.release(cellId, BY)).quarantinedAt, undefined)
    t.match(await cells.authenticate(cellId, credential), { id: cellId })
    await t.rejects(cells.release(cellId, BY), { code: 'conflict' })
    const actions = (await auditRows(store)).map(({ actor, action }) => `${actor} ${action}`)
    t.strictSame(actions.slice(-2), ['coordinator cell.quarantine', 'test cell.release'])
  })

  t.test('restarts the count of its starts when it is released', async t => {
    const store = await temporaryStore(t)
    const { cells, cellId, credential } = await enrolCell(store)
    await cells.noteEpoch(cellId, 900)
    await cells.quarantine(cellId, 'two machines')
    t.match(await cells.release(cellId, BY), { epoch: 0 })
    t.match(await cells.authenticate(cellId, credential), { epoch: 0 })
    await cells.noteEpoch(cellId, 7)
    t.match(await cells.release(cellId, BY, true), { epoch: 0 }, 'also one that was set back')
  })

  t.test('that leaves is removed for good, at its own request', async t => {
    const store = await temporaryStore(t)
    const { cells, cellId, credential } = await enrolCell(store)
    t.match(await cells.leave(cellId), { revokedAt: Number })
    t.equal(await cells.authenticate(cellId, credential), undefined)
    t.match((await auditRows(store)).at(-1), { actor: `cell:${cellId}`, action: 'cell.leave' })
  })
})
