import t from 'tap'
import { withChangeHook } from '../../../../coordinator/kernel/store/change-hook.ts'
import { StoreFault, storeUnavailable } from '../../../../coordinator/kernel/store/faults.ts'
import { probeStore } from '../../../../coordinator/kernel/store/probe.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { temporaryStore } from './temporary.ts'

t.test('a failed write is reported at once, until a probe succeeds', async t => {
  const { ledger } = await temporaryStore(t)
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const rounds: (() => void)[] = []
  let waiting = Promise.withResolvers<void>()
  const probe = probeStore(ledger, {
    runtime: systemRuntime,
    signal: stop.signal,
    wait: () => {
      waiting.resolve()
      return new Promise(resolve => rounds.push(resolve))
    },
  })
  await waiting.promise
  probe.noteFailure(new ShoalError('conflict', 'another coordinator leads the fleet now'))
  probe.noteFailure(new StoreFault('unique', 'the key is there already', undefined))
  t.equal(probe.trouble(), undefined, 'only the disk counts')
  const fault = new StoreFault('full', 'SQLITE_FULL', undefined)
  probe.noteFailure(storeUnavailable('its disk is full', fault))
  t.equal(probe.trouble(), 'a write has failed: its disk is full')
  waiting = Promise.withResolvers()
  rounds.shift()?.()
  await waiting.promise
  t.equal(probe.trouble(), undefined)
})

t.test('the probe reports failing and hanging writes', async t => {
  const { ledger } = await temporaryStore(t)
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  let now = 0
  let result: 'works' | 'fails' | 'hangs' = 'works'
  const rounds: (() => void)[] = []
  let tried = Promise.withResolvers<void>()
  const watched = withChangeHook(ledger, async (work, commit) => {
    if (result === 'works') return commit(work)
    if (result === 'hangs') tried.resolve()
    if (result === 'hangs') return new Promise<never>(() => {})
    throw new ShoalError('store_unavailable', 'the disk is full')
  })
  const { trouble } = probeStore(watched, {
    signal: stop.signal,
    runtime: { ...systemRuntime, nowMs: () => now },
    wait: () => {
      tried.resolve()
      return new Promise(resolve => rounds.push(resolve))
    },
  })
  const nextRound = async (at: number, how: typeof result): Promise<void> => {
    await tried.promise
    tried = Promise.withResolvers()
    now = at
    result = how
    rounds.shift()?.()
    await tried.promise
  }
  await tried.promise
  t.equal(trouble(), undefined)
  const rows = () => ledger.read.selectFrom('probe').selectAll().execute()
  t.equal((await rows()).length, 1)

  await nextRound(2000, 'works')
  t.equal((await rows()).length, 1, 'writes one row over and over')
  await nextRound(6000, 'fails')
  now = 7000
  t.equal(trouble(), undefined, 'forgives what is not older than 5 s')
  now = 7001
  t.equal(trouble(), 'nothing was written to the store for 5 s: the disk is full')
  await nextRound(8000, 'works')
  t.equal(trouble(), undefined, 'notices that it works again')
  await nextRound(10_000, 'hangs')
  now = 13_001
  t.match(trouble(), /for 5 s: a write has not completed/)
  t.equal((await ledger.read.selectFrom('audit').selectAll().execute()).length, 0)
})
