import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { checkTiming } from '../../../daemon/commands/check-timing.ts'
import { CoordinatorClock } from '../../../daemon/commands/clock.ts'
import { CommandJournal, type JournalFile } from '../../../daemon/commands/journal.ts'
import { openJournalFile } from '../../../daemon/commands/journal-file.ts'
import type { Verb } from '../../../daemon/commands/verb.ts'
import { commandsService } from '../../../daemon/services/commands.ts'
import { newId } from '../../../shared/ids.ts'
import { createSigner, generatePrivateKey } from '../../../shared/signing.ts'
import {
  type Ack,
  type Command,
  type Hazard,
  isGenuineAck,
  MAX_RESULT_BYTES,
} from '../../../shared/wire/command.ts'
import { type Envelope, envelope } from '../../../shared/wire/envelope.ts'
import { DryRun, hashPart, LIVE_GATE } from '../../../shared/wire/plan-part.ts'
import { silent } from '../../support/cell.ts'
import { play } from './histories.ts'
import { history } from './history-steps.ts'
import { CELL, cell, command, coordinatorSigner, folderOf, NOW, rig } from './rig.ts'

const MAX_OFFSET_MS = 2000

const nestArrays = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth))

t.test('an unsafe command runs at most once, in time and signed, in any history', async t => {
  let runs = 0
  await fc.assert(
    fc.asyncProperty(history, async steps => {
      const findings = await play(steps)
      runs += findings.unsafeRuns
      return findings.violations.length === 0
    }),
    { numRuns: 150 },
  )
  t.ok(runs > 5, 'some did run')
})

t.test('genuine commands are executed one after another, with signed reports', async t => {
  const { obey, ran, acks, executor } = await rig(t)
  const [first, second] = [command(), command({ verb: 'do-safe', hazard: 'safe' })]
  void executor.receive(first)
  t.match(await obey(second), { state: 'succeeded', result: { done: true } })
  const statesOf = ({ id }: Command) =>
    acks.filter(({ command_id }) => command_id === id).map(({ state }) => state)
  t.strictSame(statesOf(first), ['executing', 'succeeded'])
  t.strictSame(statesOf(second), ['accepted', 'executing', 'succeeded'])
  t.ok(acks.every(ack => isGenuineAck(ack, cell.publicKey)))
  t.strictSame(ran, ['unsafe', 'safe'])
})

t.test('a command of an unproven sender gets no answer and leaves no trace', async t => {
  const good = command()
  const { signature, ...unsigned } = good
  for (const [title, body] of [
    ['no signature', unsigned],
    ['another key', command({}, createSigner(generatePrivateKey()))],
    ['another key with the name of the right one', { ...command({}, cell), key_id: good.key_id }],
    ['a changed verb', { ...good, verb: 'do-caution' }],
    ['a changed life', { ...good, expires_at: good.expires_at + 1 }],
    ['a changed hazard', { ...good, hazard: 'safe' }],
    ['a field that it does not know', { ...good, also: 1 }],
    ['the name of another cell', command({ cell_id: newId('cell') })],
    ['nothing at all', null],
    ['a depth that no stack bears', { ...good, params: { deep: nestArrays(20_000) } }],
  ] as const)
    t.test(title, async t => {
      const { obey, ran, acks, file } = await rig(t)
      await obey(body)
      t.strictSame(acks, [])
      t.strictSame(ran, [])
      t.notMatch(await file.read(), /cmd_/)
      t.match(await obey(command()), { state: 'succeeded' }, 'the next one is obeyed')
    })
})

t.test('a genuine command is rejected', async t => {
  for (const [changes, reason] of [
    [{ verb: 'fly' }, 'unknown_verb'],
    [{ verb: 'do-unsafe', hazard: 'safe' }, 'hazard_mismatch'],
    [{ params: { speed: 2 } }, 'invalid_params'],
    [{ params: { also: 2 } }, 'invalid_params'],
    [{ expires_at: NOW + 3_600_001 }, 'invalid_lifetime'],
    [{ expires_at: NOW }, 'invalid_lifetime'],
    [{ not_before: NOW + 2001, expires_at: NOW + 5000 }, 'too_early'],
    [{ fence: 0.5 }, undefined],
  ] as [Partial<Command>, string | undefined][])
    t.test(`${JSON.stringify(changes)} as ${reason ?? 'nonsense'}`, async t => {
      const { obey, ran } = await rig(t)
      t.equal((await obey(command(changes)))?.reason, reason)
      t.strictSame(ran, [])
    })

  t.test('with the name of the invalid parameter', async t => {
    const { obey } = await rig(t)
    const message = async (params: Command['params']) => (await obey(command({ params })))?.message
    t.equal(await message({ also: 2 }), 'unknown field also')
    t.match(await message({ speed: 2 }), /^speed: must be /)
  })

  t.test('with the same message when repeated, without another attempt', async t => {
    const { obey, acks } = await rig(t)
    const wrong = command({ verb: 'fly' })
    await obey(wrong)
    await obey(wrong)
    t.strictSame(acks[0], acks[1])
  })
})

t.test('time', async t => {
  const createMoment = (now: number, earliest = now, latest = now, elapsedMs = 0) => ({
    now: NOW + now,
    elapsedMs,
    bounds: { earliest: NOW + earliest, latest: NOW + latest },
  })
  const unknown = { now: NOW, elapsedMs: 0, bounds: undefined }
  for (const [title, hazard, moment, reason] of [
    ['an unsafe one in time', 'unsafe', createMoment(9999), undefined],
    ['an unsafe one at its end', 'unsafe', createMoment(10_000), 'expired'],
    ['an unsafe one that may be late', 'unsafe', createMoment(9000, 9000, 10_000), 'expired'],
    ['a caution that may be late', 'caution', createMoment(9000, 9000, 10_000), 'expired'],
    ['a safe one that may be late', 'safe', createMoment(9000, 9000, 10_000), undefined],
    ['a safe one that is late', 'safe', createMoment(9000, 10_000, 10_000), 'expired'],
    ['one that waited too long', 'safe', createMoment(0, 0, 0, 10_000), 'expired'],
    ['one that waited almost too long', 'safe', createMoment(0, 0, 0, 9999), undefined],
    ['an unsafe one, clocks not measured', 'unsafe', unknown, 'clock_untrusted'],
    ['a caution, clocks not measured', 'caution', unknown, undefined],
    ['an unsafe one, clocks 2 s apart', 'unsafe', createMoment(0, 0, MAX_OFFSET_MS), undefined],
    ['an unsafe one, clocks over 2 s apart', 'unsafe', createMoment(0, 0, 2001), 'clock_untrusted'],
    [
      'an unsafe one, clocks over 2 s behind',
      'unsafe',
      createMoment(2001, 0, 0),
      'clock_untrusted',
    ],
    ['a safe one, by the cell 2 s late', 'safe', createMoment(12_000, 0, 0), undefined],
    ['a safe one, by the cell over 2 s late', 'safe', createMoment(12_001, 0, 0), 'expired'],
  ] as const)
    t.test(`${title}: ${reason ?? 'is executed'}`, async t => {
      t.equal(checkTiming(command({ hazard }), moment)?.reason, reason)
    })
})

t.test('the clock of the coordinator is bounded by its answers', async t => {
  const own = { ms: 0 }
  const clock = new CoordinatorClock(() => own.ms)
  t.equal(clock.bounds(), undefined)
  clock.markRequest('a', 'rep_a')
  own.ms = 300
  clock.markAnswer('of somebody else', NOW)
  t.equal(clock.bounds(), undefined)
  clock.markAnswer('a', NOW)
  t.match(clock.bounds(), { earliest: NOW, latest: NOW + 300 * 1.0002 })
  own.ms = 10_300
  t.match(clock.bounds(), { earliest: NOW + 9998, latest: NOW + 10_300 * 1.0002 })
  clock.markAnswer('a', NOW + 99_000)
  t.match(clock.bounds(), { earliest: NOW + 9998 }, 'an answer counts once')
})

t.test('the clock covers every connected coordinator', async t => {
  const own = { ms: 0 }
  const clock = new CoordinatorClock(() => own.ms)
  const ask = (replica: string, at: number): void => {
    clock.markRequest(replica, replica)
    clock.markAnswer(replica, at)
  }
  ask('rep_a', NOW)
  ask('rep_b', NOW + 30_000)
  t.strictSame(clock.bounds(), { earliest: NOW, latest: NOW + 30_000 })
  clock.markEnd('rep_b')
  t.strictSame(clock.bounds(), { earliest: NOW, latest: NOW })
  clock.markEnd('rep_a')
  t.strictSame(clock.bounds(), { earliest: NOW, latest: NOW }, 'the last one is kept')
  ask('rep_c', NOW + 500)
  t.strictSame(clock.bounds(), { earliest: NOW + 500, latest: NOW + 500 })
})

t.test('a repeated command', async t => {
  t.test('is answered as before and not executed again', async t => {
    for (const hazard of ['safe', 'unsafe'] as const) {
      const { obey, ran, acks } = await rig(t)
      const once = command({ verb: `do-${hazard}`, hazard })
      const first = await obey(once)
      t.strictSame(await obey(once), first)
      t.equal(acks.length, 3)
      t.equal(ran.length, 1)
    }
  })

  t.test('is refused after a restart, a thousand times', async t => {
    const { obey, file, stop } = await rig(t)
    const once = command()
    await obey(once)
    stop.abort()
    const again = await rig(t, { file })
    for (let i = 0; i < 1000; i++) await again.executor.receive(once)
    await again.executor.waitUntilIdle()
    t.strictSame(again.ran, [])
  })

  t.test('is refused by its fence once its id has been forgotten', async t => {
    const { obey, file, stop } = await rig(t)
    const old = command()
    await obey(command())
    stop.abort()
    const dayLater = await CommandJournal.open(file, () => NOW + 25 * 3_600_000)
    await dayLater.close()
    t.notMatch(await file.read(), /cmd_/)
    const again = await rig(t, { file })
    t.match(await again.obey(old), { reason: 'stale_fence' })
    t.strictSame(again.ran, [])
  })
})

/** What a crash leaves: the verb never ends, and a new life begins on the same disk. */
const restartAfterCrash = async (t: Test, hazard: Hazard) => {
  const { executor, ran, file, acks } = await rig(t, { run: () => new Promise(() => {}) })
  await executor.receive(command({ verb: `do-${hazard}`, hazard }))
  while (ran.length === 0) await new Promise(resolve => setImmediate(resolve))
  const again = await rig(t, { file })
  await again.executor.waitUntilIdle()
  return {
    before: acks,
    ran: again.ran,
    last: again.acks.at(-1),
    recent: again.executor.listRecentAcks(),
  }
}

t.test('after a crash while it was executing', async t => {
  for (const hazard of ['caution', 'unsafe'] as const)
    t.test(`a ${hazard} command is unknown and never runs again`, async t => {
      const { ran, last, recent } = await restartAfterCrash(t, hazard)
      t.strictSame(ran, [])
      t.match(last, { state: 'unknown', reason: 'interrupted' })
      t.match(recent, [{ state: 'unknown' }])
    })
  for (const hazard of ['read', 'safe'] as const)
    t.test(`a ${hazard} command is executed again`, async t => {
      const { ran, last } = await restartAfterCrash(t, hazard)
      t.strictSame(ran, [hazard])
      t.match(last, { state: 'succeeded' })
    })
})

t.test('the end of a command', async t => {
  t.test('is failed after an error, with its message', async t => {
    const { obey } = await rig(t, { run: async () => Promise.reject(new Error('no paper')) })
    t.match(await obey(command()), { state: 'failed', message: 'no paper' })
  })

  t.test('is unknown for an overdue command that acts, and the verb is aborted', async t => {
    let told = false
    const run: Verb['run'] = (_part, { signal }) =>
      new Promise(() => signal.addEventListener('abort', () => (told = true)))
    const { obey } = await rig(t, { run, timeoutSeconds: 0.001 })
    t.match(await obey(command()), { state: 'unknown', reason: 'timeout' })
    t.ok(told)
  })

  t.test('is reported without a result that is too large', async t => {
    const text = 'x'.repeat(MAX_RESULT_BYTES - 2)
    const run = async () => text
    const plain = await (await rig(t, { run })).obey(command())
    t.match(plain, { state: 'succeeded', message: /too large/ }, 'for an older coordinator')
    t.notOk(plain && 'result' in plain)
    const large = command({ max_result_bytes: MAX_RESULT_BYTES })
    t.match(await (await rig(t, { run })).obey(large), { state: 'succeeded', result: text })
    const larger = await rig(t, { run: async () => `${text}x` })
    t.match(await larger.obey(large), { message: /too large/ })
  })

  t.test('is reported without text that cannot be signed', async t => {
    const half = await rig(t, { run: async () => '\ud800' })
    t.match(await half.obey(command()), { state: 'succeeded', message: /cannot be signed/ })
    const long = await rig(t, {
      run: async () => Promise.reject(new Error(`${'x'.repeat(499)}😀`)),
    })
    t.match(await long.obey(command()), { state: 'failed', reason: 'error' })
    t.match(await long.obey(command()), { state: 'failed' })
  })

  t.test('is the plan for a dry run, and nothing is executed', async t => {
    const { obey, ran } = await rig(t)
    const dry = command({ mode: 'dry', params: { speed: 1 } })
    const part = {
      verb: 'do-unsafe',
      hazard: 'unsafe',
      gate: LIVE_GATE,
      operations: [{ speed: 1 }],
    }
    const ack = await obey(dry)
    t.match(ack, { state: 'succeeded', result: { part, checks: [] } })
    t.equal(hashPart(DryRun.parse(ack?.result).part), DryRun.parse(ack?.result).part_hash)
    t.strictSame(ran, [])
  })
})

t.test('the journal of commands', async t => {
  t.test('keeps the cell from acting while it cannot be written, and no ack is sent', async t => {
    const full = new Error('no space left on device')
    const file: JournalFile = {
      read: async () => undefined,
      append: async () => Promise.reject(full),
      replace: async text => (text.includes('cmd_') ? Promise.reject(full) : undefined),
      close: async () => {},
    }
    const { obey, ran, acks, executor } = await rig(t, { file })
    await obey(command())
    t.strictSame(ran, [])
    t.strictSame(acks, [])
    t.strictSame(executor.listRecentAcks(), [])
  })

  t.test('with a torn end is valid up to there', async t => {
    const path = join(folderOf(t), 'commands.journal')
    const { obey, stop } = await rig(t, { file: openJournalFile(path) })
    const once = command()
    await obey(once)
    stop.abort()
    appendFileSync(path, '01234567 {"id":"cmd_')
    const again = await rig(t, { file: openJournalFile(path) })
    t.match(await again.obey(once), { state: 'succeeded' })
    t.strictSame(again.ran, [])
    t.match(await again.obey(command()), { state: 'succeeded' })
    t.equal(statSync(path).mode & 0o777, 0o600)
  })

  t.test('that is damaged blocks all acting commands for an hour', async t => {
    const path = join(folderOf(t), 'commands.journal')
    const { obey, stop } = await rig(t, { file: openJournalFile(path) })
    await obey(command())
    stop.abort()
    const lines = readFileSync(path, 'utf8').split('\n')
    writeFileSync(path, ['ffffffff {}', ...lines].join('\n'))
    const again = await rig(t, { file: openJournalFile(path) })
    t.match(await again.obey(command()), { reason: 'journal_damaged' })
    const safe = command({ verb: 'do-safe', hazard: 'safe' })
    t.match(await again.obey(safe), { state: 'succeeded' })
  })

  t.test('drops old ends and keeps the highest fence', async t => {
    const clock = { now: NOW }
    const file = openJournalFile(join(folderOf(t), 'commands.journal'))
    const journal = await CommandJournal.open(file, () => clock.now)
    const { id, fence, signature } = command({ fence: 77_000 })
    const ended = { command_id: id, cell_id: CELL, state: 'failed' as const, at: NOW }
    const ack = { ...ended, key_id: cell.publicKey, signature }
    await journal.write({ id, fence, at: NOW, ack })
    await journal.close()
    clock.now += 24 * 3_600_000 + 1
    const later = await CommandJournal.open(file, () => clock.now)
    t.equal(later.find(id), undefined)
    t.equal(later.fenceOf(''), 77_000)
    await later.close()
  })
})

t.test('the service repeats acks until they are confirmed', async t => {
  const stop = new AbortController()
  const listeners = new Map<string, (message: Envelope, replica: string) => void>()
  let ready = () => {}
  let connected = false
  const told: string[] = []
  const service = commandsService({
    cellId: CELL,
    uplink: {
      on: (name, listener) => {
        listeners.set(name, listener)
        return () => listeners.delete(name)
      },
      onReady: listener => {
        ready = listener as () => void
        return () => {}
      },
      publish: async () => {},
      deliver: async (_name, body) => {
        if (!connected) throw new Error('there is no connection')
        told.push((body as Ack).state)
      },
    },
    file: openJournalFile(join(folderOf(t), 'commands.journal')),
    signer: cell,
    listTrustedKeys: () => [coordinatorSigner.publicKey],
    verbs: [
      {
        verb: 'ping',
        hazard: 'safe',
        description: '',
        timeout_seconds: 1,
        params: z.strictObject({}),
        plan: () => ({ operations: [], bounds: {} }),
        run: async () => null,
      },
    ],
    clock: { bounds: () => undefined },
    now: () => NOW,
    nowMs: () => 0,
    logger: silent,
  })
  // it comes before the journal is open
  const started = service.start({ signal: stop.signal, fail: error => t.fail(error.message) })
  const body = command({ verb: 'ping', hazard: 'safe' })
  listeners.get('cmd')?.(envelope('coordinator', 1, 'cmd', body), 'rep_a')
  await started
  connected = true
  while (!told.includes('succeeded')) {
    ready()
    await new Promise(resolve => setImmediate(resolve))
  }
  const { length } = told
  ready()
  await new Promise(resolve => setImmediate(resolve))
  t.equal(told.length, length, 'what is confirmed is not repeated')
  stop.abort()
  t.notOk(listeners.has('cmd'))
})
