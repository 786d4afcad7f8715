import t from 'tap'
import { createStepCaller } from '../../../../coordinator/agents/flows/operations/call-step.ts'
import { startOnEvents } from '../../../../coordinator/agents/flows/operations/start-on-events.ts'
import type { CallKeeping } from '../../../../coordinator/calls/idempotency/look-at-call.ts'
import { operations } from '../../../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../../../coordinator/surfaces/catalogue/skills.ts'
import { type ErrorCode, ShoalError } from '../../../../shared/errors.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'

const NOW = 100 * 3_600_000
const key = {
  id: 'k',
  tenantId: 'home',
  furtherTenants: [],
  personId: 'p',
  roles: [],
  kind: 'person',
}
const run = { id: 'run_1', flowId: 'f', tenantId: 'home', keyId: 'k', requestId: 'r', steps: [] }

interface Case {
  effect: 'read' | 'write' | 'gated'
  keeping?: CallKeeping
  interrupted?: boolean
  startedAt?: number
  fails?: ErrorCode
  isRevoked?: boolean
}

/** Kind of the result, and how often the skill was called. */
const attempt = async (given: Case) => {
  const { effect, keeping = 'none', interrupted, startedAt = NOW, fails, isRevoked } = given
  const keys = { asNow: async () => (isRevoked === true ? undefined : key) }
  let calls = 0
  const caller = createStepCaller({
    views: () => ({ keys, now: () => NOW }) as never,
    skills: [{ id: 'x', effect, method: 'POST' }] as never,
    callable: [],
    idempotency: { look: async () => keeping },
    pipeline: {
      invoke: async () => {
        calls++
        if (fails !== undefined) throw new ShoalError(fails, 'no')
        return { kind: 'done', output: {}, isReplay: false }
      },
    },
  })
  const request = {
    run,
    stepId: 'a',
    action: { skill: 'x' },
    input: {},
    callKey: 'flow:run_1:0',
    interrupted: interrupted === true ? { startedAt } : undefined,
  }
  const { kind } = await caller.call(request as never, new AbortController().signal)
  return [kind, calls]
}

t.test('an interrupted call is made again only when it cannot have had its effect', async t => {
  const cases: [Omit<Case, 'interrupted'>, string, number][] = [
    [{ effect: 'read', keeping: 'changed' }, 'done', 1],
    [{ effect: 'write', keeping: 'none' }, 'done', 1],
    [{ effect: 'write', keeping: 'begun' }, 'done', 1],
    [{ effect: 'write', keeping: 'answered' }, 'done', 1],
    [{ effect: 'write', keeping: 'changed' }, 'unknown', 0],
    [{ effect: 'write', keeping: 'running' }, 'later', 0],
    [{ effect: 'gated', keeping: 'begun' }, 'unknown', 0],
    [{ effect: 'write', startedAt: NOW - 24 * 3_600_000 }, 'unknown', 0],
    [{ effect: 'write', keeping: 'changed', isRevoked: true }, 'unknown', 0],
    [{ effect: 'write', keeping: 'answered', isRevoked: true }, 'unknown', 0],
    [{ effect: 'write', keeping: 'none', isRevoked: true }, 'failed', 0],
  ]
  for (const [given, kind, calls] of cases)
    t.strictSame(
      await attempt({ ...given, interrupted: true }),
      [kind, calls],
      JSON.stringify(given),
    )
})

/** Result of a step whose skill answers `output`; the outcome that is seen later is `seen`. */
const judge = (skill: string, output: unknown, seen: unknown[] = [], gateRequestId?: string) => {
  const callKeys: unknown[] = []
  const caller = createStepCaller({
    views: () => ({ keys: { asNow: async () => key }, now: () => NOW }) as never,
    skills,
    callable: operations,
    idempotency: { look: async () => 'none' },
    pipeline: {
      invoke: async ({ operation, repeat }) => {
        if (operation.id === skill) callKeys.push(repeat?.callKey)
        const found = operation.id === skill ? output : seen.shift()
        if (found instanceof ShoalError) throw found
        return { kind: 'done', output: found, isReplay: false }
      },
    },
  })
  const request = { run, stepId: 'a', action: { skill }, input: {}, callKey: 'c', gateRequestId }
  const result = caller.call(request as never, new AbortController().signal)
  return result.then(result => ({ ...result, callKeys }))
}

t.test('a step has succeeded when its operation says so, not when it has answered', async t => {
  const device = (state: string) => ({ plan: null, outcome: { id: 'cmd_1', state } })
  for (const [state, kind] of [
    ['succeeded', 'done'],
    ['failed', 'failed'],
    ['rejected', 'failed'],
    ['expired', 'failed'],
    ['unknown', 'unknown'],
    ['a state of a newer cell', 'failed'],
  ] as const) {
    const output = device(state)
    const result = await judge('device-command', output)
    t.equal(result.kind, kind, state)
    if (kind === 'failed') t.match(result, { reason: `device-command is ${state}`, output })
  }
  t.match(await judge('device-command', { plan: {}, outcome: null }), { kind: 'done' }, 'a dry run')
  t.match(await judge('run-test-suite', { failed: 0 }), { kind: 'done' })
  t.match(await judge('run-test-suite', { failed: 2 }), { kind: 'failed' })
  t.match(await judge('repair-trigger', { repair: 'not_configured' }), { kind: 'failed' })
  t.match(await judge('cockpit-health-check', { state: 'down' }), { kind: 'done' }, 'it informs')
})

t.test('a step waits for the end of the command that it has begun', async t => {
  const begun = { plan: {}, outcome: { id: 'cmd_1', state: 'executing' } }
  const ends: [unknown, object][] = [
    [{ id: 'cmd_1', state: 'executing' }, { kind: 'later' }],
    [
      { id: 'cmd_1', state: 'failed' },
      { kind: 'failed', output: { outcome: { state: 'failed' } } },
    ],
    [
      { id: 'cmd_1', state: 'succeeded', result: 1 },
      { kind: 'done', output: { plan: {}, outcome: { state: 'succeeded', result: 1 } } },
    ],
    [new ShoalError('store_unavailable', 'no'), { kind: 'later' }],
    [new ShoalError('not_found', 'no'), { kind: 'unknown' }],
  ]
  for (const [seen, result] of ends) t.match(await judge('device-command', begun, [seen]), result)
  const moving = { plan: null, started: { formation_id: 'f', state: 'moving' } }
  t.match(await judge('swarm-formation', moving, [{ state: 'aborted' }]), { kind: 'failed' })
})

t.test('a step that asks people waits for them, and asks again with another call key', async t => {
  const pending = { status: 'pending', request_id: 'req_1' }
  const waiting = await judge('hitl-gate', pending)
  t.match(waiting, { kind: 'waiting', gateRequestId: 'req_1', callKeys: ['c'] })
  const approved = { ...pending, status: 'approved' }
  const decided = await judge('hitl-gate', approved, [], 'req_1')
  t.match(decided, { kind: 'done', callKeys: ['c:decided'] })
  t.match(await judge('hitl-gate', { ...pending, status: 'blocked' }), { kind: 'failed' })
})

t.test('a run whose key was revoked withdraws what it waits for', async t => {
  const ended: string[] = []
  const caller = createStepCaller({
    views: () =>
      ({
        keys: { asNow: async () => undefined, get: async () => key },
        tasks: { cancel: async (id: string) => void ended.push(id) },
        gates: { withdraw: async (id: string) => void ended.push(id) },
      }) as never,
    skills: [],
    callable: [],
    idempotency: { look: async () => 'none' },
    pipeline: { invoke: async () => t.fail('nothing is called') as never },
  })
  await caller.withdraw(run as never, { taskId: 'task_1', gateRequestId: 'req_1' } as never)
  t.strictSame(ended, ['task_1', 'req_1'])
})

t.test('a call that threw has failed only when it had no effect', async t => {
  const cases: [Case, string][] = [
    [{ effect: 'write', fails: 'conflict' }, 'failed'],
    [{ effect: 'write', fails: 'conflict', keeping: 'answered' }, 'failed'],
    [{ effect: 'write', fails: 'internal', keeping: 'changed' }, 'unknown'],
    [{ effect: 'write', fails: 'request_timeout', keeping: 'running' }, 'later'],
    [{ effect: 'gated', fails: 'cell_unavailable' }, 'unknown'],
    [{ effect: 'gated', fails: 'invalid_request' }, 'failed'],
    [{ effect: 'gated', fails: 'rate_limited' }, 'later'],
  ]
  for (const [given, kind] of cases)
    t.strictSame(await attempt(given), [kind, 1], JSON.stringify(given))
})

t.test('an event starts its synergy once, with the rights of the configured key', async t => {
  const started: unknown[] = []
  let hear: ((event: object) => void) | undefined
  const flows = {
    synergies: {
      s: { flows: ['f'], on: 'shoal.alert.raised', key_id: 'k' },
      manual: { flows: [] },
    },
    synergy: (synergyId: string) => ({ synergyId }),
    start: async (what: object, by: object, options: object) => {
      started.push([what, by, options])
    },
  }
  const stop = startOnEvents({
    runtime: systemRuntime,
    flows: flows as never,
    views: () =>
      ({ keys: { asNow: async () => ({ ...key, roles: ['operator_admin'] }) } }) as never,
    events: {
      subscribe: (types, listener) => {
        t.strictSame(types, new Set(['shoal.alert.raised']))
        hear = listener as never
        return () => {
          hear = undefined
        }
      },
    },
    logger: { warn: () => {} },
  })
  hear?.({ id: '6', type: 'shoal.gate.approved', data: { tenant_id: 'foreign' } })
  hear?.({ id: '7', type: 'shoal.alert.raised', data: {} })
  await new Promise(setImmediate)
  const by = { tenantId: 'home', keyId: 'k' }
  t.match(started, [[{ synergyId: 's' }, by, { onceKey: 's:7', mostPerHour: 60 }]])
  stop()
  t.equal(hear, undefined)
})
