import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import t, { type Test } from 'tap'
import { DaemonConfig } from '../../../daemon/config.ts'
import { genuineDesired, isStale, type TrustContext } from '../../../daemon/desired/believable.ts'
import { OpenBirths } from '../../../daemon/desired/freshness.ts'
import { settingsOf } from '../../../daemon/desired/settings.ts'
import { DesiredService } from '../../../daemon/services/desired.ts'
import { newId } from '../../../shared/ids.ts'
import { createSigner, generatePrivateKey, type Signer } from '../../../shared/signing.ts'
import { type DesiredBody, type ReportedBody, signDesired } from '../../../shared/wire/desired.ts'
import { type Envelope, envelope } from '../../../shared/wire/envelope.ts'

const coordinator = createSigner(generatePrivateKey())
const stranger = createSigner(generatePrivateKey())
const [own, other] = [newId('cell'), newId('cell')]
const createDocument = (seconds: number) => ({ telemetry: { interval_seconds: seconds } })

const signFor = (cell_id: string, version: number, signer: Signer, answers?: string): DesiredBody =>
  signDesired(
    {
      version,
      document: createDocument(version),
      cell_id,
      issued_at: 1,
      ...(answers !== undefined && { answers }),
    },
    signer,
  )

t.test('settings are trusted by their signature', async t => {
  const good = signFor(own, 7, coordinator, 'birth')
  const { signature, ...unsigned } = good
  const pinned: TrustContext = { cellId: own, trusted: [coordinator.publicKey] }
  for (const [title, body, believing, isBelieved] of [
    ['as they were signed', good, pinned, true],
    ['not for another cell', signFor(other, 7, coordinator), pinned, false],
    [
      'not with another cell put in',
      { ...signFor(other, 7, coordinator), cell_id: own },
      pinned,
      false,
    ],
    ['not from another key', signFor(own, 7, stranger), pinned, false],
    [
      'not from another key under our name',
      { ...signFor(own, 7, stranger), key_id: coordinator.publicKey },
      pinned,
      false,
    ],
    ['not unsigned', unsigned, pinned, false],
    ['not without a cell', { version: 7, document: {} }, pinned, false],
    ['not with another document', { ...good, document: createDocument(1) }, pinned, false],
    ['not with a higher version', { ...good, version: 8 }, pinned, false],
    ['not as the answer to another birth', { ...good, answers: 'other' }, pinned, false],
    ['not without what they answer', { ...unsigned, signature, answers: undefined }, pinned, false],
    ['not with another time', { ...good, issued_at: 2 }, pinned, false],
    ['not with a field put in', { ...good, more: 1 }, pinned, false],
    [
      'with any of several keys',
      good,
      { ...pinned, trusted: [stranger.publicKey, coordinator.publicKey] },
      true,
    ],
    [
      'unsigned, before a key is pinned',
      { version: 7, document: {} },
      { cellId: own, trusted: [] },
      true,
    ],
    ['signed, before a key is pinned', good, { cellId: own, trusted: [] }, true],
  ] as [string, object, TrustContext, boolean][])
    t.equal(
      genuineDesired(JSON.parse(JSON.stringify(body)), believing) !== undefined,
      isBelieved,
      title,
    )
  t.throws(() => genuineDesired({ version: -1, document: {} }, pinned))
})

t.test('fields of later versions are signed too and are harmless', async t => {
  const wanted = { version: 1, document: {}, cell_id: own, issued_at: 1, later: { any: 'thing' } }
  const body = signDesired(wanted, coordinator)
  t.match(genuineDesired(body, { cellId: own, trusted: [coordinator.publicKey] }), { version: 1 })
})

t.test('outdated settings are recognised', async t => {
  for (const [title, version, standing, stale] of [
    ['below what was believed', 4, { isAnswer: false, isNothingNew: false }, true],
    ['at the same version with other contents', 5, { isAnswer: false, isNothingNew: false }, true],
    ['not above it', 6, { isAnswer: false, isNothingNew: false }, false],
    ['not when they are what holds', 5, { isAnswer: false, isNothingNew: true }, false],
    ['not as the answer to a birth', 0, { isAnswer: true, isNothingNew: false }, false],
  ] as [string, number, { isAnswer: boolean; isNothingNew: boolean }, boolean][])
    t.equal(isStale({ version }, { highest: 5, ...standing }), stale, title)
})

t.test('a birth is answered once, and never after a later one', async t => {
  const births = new OpenBirths()
  for (const id of ['a', 'b', 'c']) births.add(id, 'rep_a')
  t.notOk(births.take(undefined))
  t.notOk(births.take('x'))
  t.ok(births.take('b'))
  t.notOk(births.take('b'))
  t.notOk(births.take('a'), 'it was kept back')
  t.ok(births.take('c'))
  for (let i = 0; i < 100; i++) births.add(`${i}`, 'rep_a')
  t.notOk(births.take('0'), 'only so many are remembered')
  t.ok(births.take('99'))
  births.add('of a', 'rep_a')
  births.add('of b', 'rep_b')
  t.ok(births.take('of b'))
  t.ok(births.take('of a'), 'each coordinator answers its own')
})

/** The service of a cell that has pinned the coordinator's key. */
const rig = async (t: Test, folder: string) => {
  const stop = new AbortController()
  const births = new OpenBirths()
  const asked: number[] = []
  const reports: ReportedBody[] = []
  const warnings: string[] = []
  const world = { ms: 0 }
  let listener: (message: Envelope, replica: string) => void = () => {}
  let onEnd: (replica: string) => void = () => {}
  let tick = () => {}
  const local = settingsOf(DaemonConfig.parse({ name: 'n' }))
  const service = new DesiredService({
    stateDir: folder,
    uplink: {
      on: (_name, heard) => {
        listener = heard
        return () => {}
      },
      onReady: () => () => {},
      onEnd: ended => {
        onEnd = ended
        return () => {}
      },
      publishToAll: async (_name, body) => void reports.push(body as ReportedBody),
    },
    local,
    probationMs: 60_000,
    apply: async () => {},
    health: { view: () => ({}) },
    engines: () => [],
    trustedKeys: () => ({ cellId: own, trusted: [coordinator.publicKey] }),
    births,
    askAgain: () => void asked.push(world.ms),
    logger: pino({ level: 'warn' }, { write: line => void warnings.push(JSON.parse(line).msg) }),
    nowMs: () => world.ms,
    wait: (_ms, signal) =>
      new Promise(resolve => {
        tick = resolve
        signal.addEventListener('abort', () => resolve())
      }),
  })
  await service.start({ signal: stop.signal, fail: error => t.fail(error.message) })
  const end = async (): Promise<void> => {
    stop.abort()
    await service.reload(local)
  }
  t.teardown(end)
  /** The version in force once everything that came is judged. */
  const receiveAll = async (...bodies: DesiredBody[]): Promise<number | undefined> => {
    for (const body of bodies) listener(envelope('coordinator', 1, 'desired', body), 'rep_a')
    await service.reload(local)
    return reports.at(-1)?.applied_version
  }
  /** The version in force after a coordinator has sent these settings. */
  const receiveFrom = async (replica: string, body: DesiredBody): Promise<number | undefined> => {
    listener(envelope('coordinator', 1, 'desired', body), replica)
    return receiveAll()
  }
  const looks = {
    tick: () => tick(),
    endSession: (replica: string) => onEnd(replica),
  }
  return { after: receiveAll, receiveFrom, births, asked, warnings, world, end, ...looks }
}

t.test('a cell that has pinned a key', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-signed-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const captured = signFor(own, 5, coordinator)
  const first = await rig(t, folder)
  t.equal(await first.after(captured), 5)
  t.equal(await first.after(signFor(own, 8, coordinator)), 8)

  t.test('is not rolled back by a replay, and asks for a new answer', async t => {
    t.equal(await first.after(captured), 8)
    t.equal(await first.after(signFor(other, 9, coordinator)), 8)
    t.equal(await first.after(signFor(own, 9, stranger)), 8)
    t.strictSame(first.asked, [0], 'once, however often')
    t.strictSame(first.warnings, [], 'as after a rotation of the key')
    first.world.ms += 10_000
    await first.after(captured)
    t.strictSame(first.warnings, ['settings are not trusted'], 'when it lasts')
    t.strictSame(first.asked, [0, 10_000])
  })

  t.test('rolls back when the coordinator currently asks for it', async t => {
    first.births.add('now', 'rep_a')
    const answer = signFor(own, 6, coordinator, 'now')
    t.equal(await first.after(answer), 6)
    t.equal(await first.after(signFor(own, 8, coordinator)), 6, 'what was captured stays past')
    t.equal(await first.after(signFor(own, 10, coordinator)), 10, 'a change is above all before')
    t.equal(await first.after(answer), 10, 'an answer counts once')
  })

  t.test('remembers the highest version after a restart', async t => {
    await first.end()
    const second = await rig(t, folder)
    t.not(await second.after(signFor(own, 9, coordinator)), 9)
    second.births.add('again', 'rep_a')
    t.equal(await second.after(signFor(own, 7, coordinator, 'again')), 7)
  })
})

t.test('a cell with several coordinators', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-several-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const cell = await rig(t, folder)
  const answer = (replica: string, version: number, id: string) => {
    cell.births.add(id, replica)
    return cell.receiveFrom(replica, signFor(own, version, coordinator, id))
  }

  t.test('takes the freshest settings, whoever answers last', async t => {
    t.equal(await answer('rep_a', 7, 'a1'), 7)
    t.equal(await answer('rep_b', 6, 'b1'), 7, 'it lags')
    t.strictSame(cell.asked, [0], 'the cell asks whether it still does')
    t.equal(await answer('rep_b', 7, 'b2'), 7)
  })

  t.test('goes back when all of them want it', async t => {
    t.equal(await answer('rep_b', 5, 'b3'), 7)
    cell.world.ms += 10_000
    cell.tick()
    await cell.receiveFrom('rep_b', signFor(own, 5, coordinator))
    t.strictSame(cell.asked, [0, 10_000])
    t.equal(await answer('rep_a', 5, 'a2'), 5)
  })

  t.test('does not count one whose session has ended', async t => {
    t.equal(await answer('rep_a', 8, 'a3'), 8)
    cell.endSession('rep_a')
    t.equal(await answer('rep_b', 6, 'b4'), 6)
  })
})
