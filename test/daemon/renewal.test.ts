import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Cells } from '../../coordinator/fleet/enrolment/cells.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { credentialOf, readIdentity, writeIdentity } from '../../daemon/identity.ts'
import { type OwnIdentity, ownIdentity } from '../../daemon/own-identity.ts'
import { finishRenewal, type RenewalQuestions, renewCredential } from '../../daemon/renewal.ts'
import { believe, KeyDoubts } from '../../daemon/trust.ts'
import { ShoalError } from '../../shared/errors.ts'
import { createSigner, generatePrivateKey } from '../../shared/signing.ts'
import { temporaryStore } from '../coordinator/kernel/store/temporary.ts'
import { waitUntil } from '../support/wait-until.ts'
import { newIdentity } from './stand-in.ts'

const newFolder = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-renewal-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A cell of a real store, with its identity on disk. */
const enrolCell = async (t: Test) => {
  const store = await temporaryStore(t)
  let now = Date.now()
  const cells = new Cells({ store, now: () => now })
  const { secret } = await createToken(store.ledger, { uses: 1, ttlMinutes: 5 }, { actor: 'test' })
  const { cellId, credential } = await cells.enrol({ token: secret, name: 'n' })
  const folder = newFolder(t)
  await writeIdentity(folder, { ...newIdentity('https://c.example'), cell_id: cellId, credential })
  const later = () => {
    now += 60_000
  }
  return { cells, folder, cellId, first: credential, later }
}

/** The daemon after a start: what it knows is what is on the disk. */
const loadIdentity = async (folder: string): Promise<OwnIdentity> => {
  const stored = await readIdentity(folder)
  if (stored === undefined) throw new Error('no identity')
  return ownIdentity(folder, stored)
}

const questionsTo = (cells: Cells, cellId: string): RenewalQuestions => {
  const require = async (credential: string): Promise<void> => {
    if ((await cells.authenticate(cellId, credential)) === undefined)
      throw new ShoalError('auth_required', 'no')
  }
  return {
    renew: async credential => {
      await require(credential)
      return cells.renew(cellId)
    },
    confirm: require,
  }
}

/** Points at which the process, or the connection, can die. */
const KILL_POINTS = [
  'before the question',
  'after the coordinator has made the new one, before its answer arrives',
  'after the answer, before it is on the disk',
  'after it is on the disk, before its first use',
  'after the coordinator has taken the first use, before that is known',
  'after that is known, before it is on the disk',
] as const

const renewUntilKilled = (
  point: (typeof KILL_POINTS)[number],
  identity: OwnIdentity,
  questions: RenewalQuestions,
) => {
  let writes = 0
  const die = (here: (typeof KILL_POINTS)[number]): void => {
    if (here === point) throw new Error(point)
  }
  const { update } = identity
  identity.update = async changes => {
    die(writes++ === 0 ? KILL_POINTS[2] : KILL_POINTS[5])
    await update(changes)
  }
  return renewCredential(identity, {
    renew: async credential => {
      die(KILL_POINTS[0])
      const next = await questions.renew(credential)
      die(KILL_POINTS[1])
      return next
    },
    confirm: async credential => {
      die(KILL_POINTS[3])
      await questions.confirm(credential)
      die(KILL_POINTS[4])
    },
  })
}

t.test('the renewal of a credential', async t => {
  t.test('leaves only the new credential valid', async t => {
    const { cells, folder, cellId, first } = await enrolCell(t)
    const identity = await loadIdentity(folder)
    await renewCredential(identity, questionsTo(cells, cellId), () => 77)
    t.not(identity.credential, first)
    t.match(await readIdentity(folder), { credential: identity.credential, credential_at: 77 })
    t.notOk('next_credential' in ((await readIdentity(folder)) ?? {}))
    t.match(await cells.authenticate(cellId, identity.credential), { id: cellId })
    t.equal(await cells.authenticate(cellId, first), undefined, 'the old one is refused')
  })

  for (const point of KILL_POINTS)
    t.test(`killed ${point} is completed once the cell returns`, async t => {
      const { cells, folder, cellId, first, later } = await enrolCell(t)
      const questions = questionsTo(cells, cellId)
      await t.rejects(renewUntilKilled(point, await loadIdentity(folder), questions), {
        message: point,
      })

      const again = await loadIdentity(folder)
      later()
      const shown = credentialOf(again)
      t.notOk(await cells.isReplaced(cellId, shown, 'another start'), 'nobody takes it for a copy')
      t.match(await cells.authenticate(cellId, shown), { id: cellId }, 'without having settled')
      await finishRenewal(again, questions)
      t.match(await cells.authenticate(cellId, again.credential), { id: cellId }, 'it is known')
      await renewCredential(again, questions)
      t.match(await cells.authenticate(cellId, again.credential), { id: cellId })
      t.equal(await cells.authenticate(cellId, first), undefined)
      t.ok(await cells.isReplaced(cellId, first, 'another start'))
      t.strictSame((await readIdentity(folder))?.credential, again.credential)
    })

  t.test('falls back to the old credential when another renewal has overtaken it', async t => {
    const { cells, folder, cellId, first, later } = await enrolCell(t)
    const questions = questionsTo(cells, cellId)
    const identity = await loadIdentity(folder)
    await t.rejects(renewUntilKilled(KILL_POINTS[3], identity, questions), {
      message: KILL_POINTS[3],
    })
    later()
    await cells.renew(cellId)
    const again = await loadIdentity(folder)
    await finishRenewal(again, questions)
    t.equal(again.credential, first)
    t.match(await cells.authenticate(cellId, first), { id: cellId })
  })

  for (const [title, cause, good] of [
    ['that was taken with an answer that makes no sense holds', new Error('cut'), true],
    ['that an old coordinator refused is tried again', undefined, false],
  ] as const)
    t.test(title, async t => {
      const { folder, first } = await enrolCell(t)
      const identity = await loadIdentity(folder)
      const error = new ShoalError('upgrade_required', 'no', cause && { cause })
      const renewed = renewCredential(identity, {
        renew: async () => 'next',
        confirm: () => Promise.reject(error),
      })
      if (good) await renewed
      else await t.rejects(renewed, { code: 'upgrade_required' })
      const kept = await readIdentity(folder)
      t.match(kept, good ? { credential: 'next' } : { credential: first, next_credential: 'next' })
      t.equal(kept?.next_credential === undefined, good)
    })

  t.test('keeps both credentials when both are refused, and settles later', async t => {
    const { cells, folder, cellId, first } = await enrolCell(t)
    const questions = questionsTo(cells, cellId)
    const identity = await loadIdentity(folder)
    await t.rejects(renewUntilKilled(KILL_POINTS[4], identity, questions), {
      message: KILL_POINTS[4],
    })
    const again = await loadIdentity(folder)
    const refuse = async () => {
      throw new ShoalError('auth_required', 'no')
    }
    await t.rejects(finishRenewal(again, { confirm: refuse }), { code: 'auth_required' })
    t.equal(again.credential, first)
    await finishRenewal(again, questions)
    t.match(await cells.authenticate(cellId, again.credential), { id: cellId })
  })

  t.test('is not requested many times in a row', async t => {
    const { cells, cellId, later } = await enrolCell(t)
    await cells.renew(cellId)
    await t.rejects(cells.renew(cellId), { code: 'rate_limited' })
    later()
    t.match(await cells.renew(cellId), /^\w{43}$/)
  })
})

t.test('concurrent changes of the identity all reach the disk', async t => {
  const folder = newFolder(t)
  await writeIdentity(folder, newIdentity('https://c.example'))
  const identity = await loadIdentity(folder)
  const key = createSigner(generatePrivateKey()).publicKey
  await Promise.all([
    identity.update({ next_credential: 'n' }),
    identity.update({ coordinator_key: key }),
    identity.update({ credential: 'x', next_credential: undefined }),
  ])
  const { boot_id, update, ...kept } = identity
  t.strictSame(await readIdentity(folder), kept)
  t.match(kept, { coordinator_key: key, credential: 'x' })
})

t.test('the signing key of the coordinator', async t => {
  const old = createSigner(generatePrivateKey())
  const next = createSigner(generatePrivateKey())
  const step = { key: next.publicKey, previous: old.publicKey }
  const endorsement = { ...step, signature: old.sign('endorse', step) }
  const quiet = { info: () => {} }
  const identity = async (t: Test) => {
    const folder = newFolder(t)
    await writeIdentity(folder, newIdentity('https://c.example'))
    return loadIdentity(folder)
  }

  t.test('is pinned on first contact, and replaced by an endorsed one', async t => {
    const own = await identity(t)
    await believe(own, { signing_key: old.publicKey, endorsements: [] }, quiet)
    t.equal(own.coordinator_key, old.publicKey)
    await believe(own, { signing_key: next.publicKey, endorsements: [endorsement] }, quiet)
    t.equal(own.coordinator_key, next.publicKey)
  })

  t.test('is not replaced by an older one that another coordinator shows', async t => {
    const own = await identity(t)
    const oldest = createSigner(generatePrivateKey())
    const first = { key: old.publicKey, previous: oldest.publicKey }
    const endorsements = [{ ...first, signature: oldest.sign('endorse', first) }, endorsement]
    await own.update({ coordinator_key: oldest.publicKey })
    await Promise.all([
      believe(own, { signing_key: next.publicKey, endorsements }, quiet),
      believe(own, { signing_key: old.publicKey, endorsements: endorsements.slice(0, 1) }, quiet),
    ])
    t.equal(own.coordinator_key, next.publicKey)
  })

  t.test('is reported when a coordinator still shows another one after a while', async t => {
    const lines: string[] = []
    const log = (level: string) => (about: { replica?: string }) =>
      void lines.push(`${level} ${about.replica}`)
    const doubts = new KeyDoubts({ info: log('info'), error: log('error') } as never, 1)
    t.teardown(() => doubts.close())
    doubts.note('rep_a', false)
    doubts.note('rep_b', false)
    doubts.note('rep_b', true)
    await waitUntil('the doubt is reported', () => lines.length === 2)
    t.strictSame(lines, ['info rep_b', 'error rep_a'])
  })

  t.test('is not replaced by an unendorsed one', async t => {
    const own = await identity(t)
    await own.update({ coordinator_key: old.publicKey })
    await believe(own, { signing_key: next.publicKey, endorsements: [] }, quiet)
    t.equal(own.coordinator_key, old.publicKey)
  })
})
