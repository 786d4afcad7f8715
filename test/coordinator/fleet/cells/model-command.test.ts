import t from 'tap'
import { type Cell, newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import { commandModel } from '../../../../coordinator/fleet/cells/operations/model-command.ts'
import type { CommandRecord } from '../../../../coordinator/fleet/control/command.ts'
import { commandEnd } from '../../../../coordinator/fleet/control/command-end.ts'
import type { CommandRequest } from '../../../../coordinator/fleet/control/commands.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { engine, sampleOf } from '../series/samples.ts'

const record = (more: Partial<CommandRecord> = {}): CommandRecord =>
  ({ id: 'cmd_1', cellId: 'c', state: 'sent', ...more }) as CommandRecord

const live: Cell = {
  ...newCell('c', 1),
  presence: 'ready',
  sample: sampleOf(0, { engines: [engine(0, { models: ['m:1b'] })] }),
}

/** A coordinator with one cell, whose commands end as the test wants. */
const context = (end: Partial<CommandRecord>, cell: Cell | undefined = live) => {
  const requests: CommandRequest[] = []
  const views = {
    cells: {
      get: async (id: string) => (id === 'c' ? { id } : undefined),
      list: async () => [{ id: 'c', name: 'c' }],
    },
    fleet: { cell: () => cell },
    commands: {
      create: async (request: CommandRequest) => {
        requests.push(request)
        return record(end)
      },
      get: async () => record(end),
    },
    actor: { actor: 'operator' },
    signal: AbortSignal.abort(),
    runtime: systemRuntime,
  }
  return { context: views as unknown as Parameters<typeof commandModel>[2], requests }
}

const input = { cell_id: 'c', model: 'm:1b' }

t.test('a model command', async t => {
  t.test('returns the state of the model', async t => {
    const result = { model: 'm:1b', state: 'loading', pinned: false, progress_percent: 12.5 }
    const { context: views, requests } = context({ state: 'succeeded', result })
    t.strictSame(await commandModel('load', input, views), {
      cell_id: 'c',
      model: 'm:1b',
      state: 'loading',
      phase: null,
      progress_percent: 12.5,
      remaining_seconds: null,
      pinned: false,
      reason: null,
      command_id: 'cmd_1',
      command_state: 'succeeded',
    })
    t.match(requests, [{ verb: 'model-load', mode: 'live', params: { model: 'm:1b' } }])
    t.strictSame(requests[0]?.noted, { model: 'm:1b' }, 'the audit says which model')
  })
  t.test('returns null for unknown values', async t => {
    const { context: views } = context({ state: 'sent' })
    t.match(await commandModel('pin', input, views), { state: null, command_state: 'sent' })
  })
  for (const [end, code, message] of [
    [{ state: 'failed', reason: 'conflict', message: 'busy' }, 'conflict', 'busy'],
    [{ state: 'failed', reason: 'model_not_found', message: 'no' }, 'model_not_found', 'no'],
    [{ state: 'failed', reason: 'error', message: 'broken' }, 'cell_unavailable', 'broken'],
    [{ state: 'rejected', reason: 'busy' }, 'cell_unavailable', 'c says: busy'],
    [{ state: 'expired' }, 'cell_unavailable', 'c says: expired'],
  ] as const)
    t.test(`is ${code} when the cell answers ${Object.values(end).join(', ')}`, async t => {
      await t.rejects(commandModel('load', input, context(end).context), { code, message })
    })
  t.test('is refused unless the cell is connected and has the model', async t => {
    const { context: views } = context({})
    await t.rejects(commandModel('load', { ...input, cell_id: 'd' }, views), { code: 'not_found' })
    await t.rejects(commandModel('load', { ...input, model: 'n' }, views), {
      code: 'model_not_found',
      param: 'model',
    })
    const away = context({}, { ...live, presence: 'dead' })
    await t.rejects(commandModel('load', input, away.context), { code: 'cell_unavailable' })
    t.strictSame(away.requests, [])
  })
})

t.test('the wait for the end of a command', async t => {
  const states: CommandRecord['state'][] = ['accepted', 'executing', 'succeeded']
  const commands = { get: async () => record({ state: states.shift() ?? 'unknown' }) }
  const signal = new AbortController().signal
  const wait = async () => {}
  t.match(
    await commandEnd(commands, record(), { runtime: systemRuntime, timeoutMs: 1000, signal, wait }),
    {
      state: 'succeeded',
    },
  )
  t.test('is limited in time', async t => {
    const busy = { get: async () => record({ state: 'executing' }) }
    t.match(
      await commandEnd(busy, record(), { runtime: systemRuntime, timeoutMs: 1000, signal, wait }),
      {
        state: 'executing',
      },
    )
    let [ms, looks] = [0, 0]
    const runtime = { ...systemRuntime, nowMs: () => ms }
    const busyMachine = { timeoutMs: 1000, signal, runtime }
    const slow = async () => {
      ms += 500
      looks += 1
    }
    await commandEnd(busy, record(), { ...busyMachine, wait: slow })
    t.equal(looks, 2, 'the time of a busy machine counts')
    const gone = AbortSignal.abort()
    const options = {
      timeoutMs: Number.POSITIVE_INFINITY,
      signal: gone,
      wait,
      runtime: systemRuntime,
    }
    t.match(await commandEnd(busy, record(), options), { state: 'sent' })
  })
})
