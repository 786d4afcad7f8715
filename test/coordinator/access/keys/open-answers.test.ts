import t from 'tap'
import {
  OpenAnswers,
  type OpenAnswersParts,
} from '../../../../coordinator/access/keys/open-answers.ts'
import type { Key } from '../../../../coordinator/kernel/declaration/key.ts'
import { logger } from './fixtures.ts'

const KEY: Key = {
  id: 'k',
  secretId: 's1',
  tenantId: 'one',
  furtherTenants: ['two'],
  personId: 'ada',
  tier: 'pro',
  roles: ['client'],
  kind: 'person',
  label: '',
  createdAt: 0,
}

const yieldTurn = () => new Promise<void>(resolve => setImmediate(resolve))

/** A clock that stands until it is moved, and timers that run when it is. */
const rig = (parts: Partial<OpenAnswersParts> = {}) => {
  const clock = { now: 1000 }
  const timers = new Set<{ at: number; run: () => void }>()
  const asked: string[][] = []
  const stored = { keys: [KEY] as Key[] }
  const open = new OpenAnswers({
    read: async ids => {
      asked.push([...ids])
      return stored.keys
    },
    isCurrent: () => true,
    logger,
    now: () => clock.now,
    later: (run, milliseconds) => {
      const timer = { at: clock.now + milliseconds, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    ...parts,
  })
  const pass = (milliseconds: number): void => {
    clock.now += milliseconds
    for (const timer of [...timers]) if (timer.at <= clock.now && timers.delete(timer)) timer.run()
  }
  const cuts: string[] = []
  const hold = (name: string, key: Key = KEY, rest: object = {}) =>
    open.hold(key, { cut: error => void cuts.push(`${name}: ${error.code}`), ...rest })
  return { open, hold, cuts, asked, stored, pass, timers }
}

t.test('an open answer of an unchanged key continues', async t => {
  const { open, hold, cuts, asked } = rig()
  hold('stream')
  open.look('k')
  await yieldTurn()
  t.strictSame([cuts, asked], [[], [['k']]])
})

t.test('an open answer is cut once when its key becomes invalid', async t => {
  for (const [what, keys, code] of [
    ['gone', [], 'auth_required'],
    ['revoked', [{ ...KEY, revokedAt: 1 }], 'auth_required'],
    ['disabled', [{ ...KEY, disabledAt: 1 }], 'auth_required'],
    ['expired', [{ ...KEY, expiresAt: 1000 }], 'auth_required'],
    [
      'no longer the one with the secret that was shown',
      [{ ...KEY, secretId: 's2' }],
      'auth_required',
    ],
  ] as const)
    await t.test(what, async t => {
      const { open, hold, cuts, stored } = rig()
      hold('stream')
      stored.keys = [...keys]
      open.look()
      await yieldTurn()
      t.strictSame(cuts, [`stream: ${code}`])
      open.look()
      await yieldTurn()
      t.equal(cuts.length, 1)
    })
})

t.test('a rotation leaves the open answers of both secrets', async t => {
  const { open, hold, cuts, stored } = rig()
  hold('old')
  hold('new', { ...KEY, secretId: 's2' })
  stored.keys = [KEY, { ...KEY, secretId: 's2' }]
  open.look('k')
  await yieldTurn()
  t.strictSame(cuts, [])
  stored.keys = [{ ...KEY, secretId: 's2' }]
  open.look('k')
  await yieldTurn()
  t.strictSame(cuts, ['old: auth_required'])
})

t.test('a lower tier leaves an open answer; losing a required role or tenant does not', async t => {
  const { open, hold, cuts, stored } = rig()
  const operator: Key = { ...KEY, roles: ['reviewer'] }
  hold('chat', operator)
  hold('elsewhere', operator, { tenantId: 'two' })
  hold('events', operator, { isAllowed: (key: Key) => key.roles.includes('reviewer') })
  stored.keys = [{ ...KEY, tier: 'free', disabledTenants: ['two'] }]
  open.look('k')
  await yieldTurn()
  t.strictSame(cuts.toSorted(), ['elsewhere: tenant_forbidden', 'events: forbidden'])
})

t.test('a released answer is neither cut nor checked', async t => {
  const { open, hold, cuts, asked, stored } = rig()
  hold('stream')()
  stored.keys = []
  open.look()
  open.look('k')
  await yieldTurn()
  t.strictSame([cuts, asked], [[], []])
})

t.test('any release order leaves the other answers of the key to be cut', async t => {
  const all = ['first', 'second', 'third']
  for (const gone of all)
    await t.test(gone, async t => {
      const { open, hold, cuts, stored } = rig()
      const releases = new Map(all.map(name => [name, hold(name)]))
      releases.get(gone)?.()
      hold('fourth')
      releases.get(gone)?.()
      stored.keys = []
      open.look('k')
      await yieldTurn()
      const rest = [...all, 'fourth'].filter(name => name !== gone)
      t.strictSame(cuts.toSorted(), rest.map(name => `${name}: auth_required`).toSorted())
    })
})

t.test('thousands of keys without open answers cost nothing', async t => {
  const { open, hold, cuts, asked, stored } = rig()
  for (let n = 0; n < 3000; n++) hold('gone', { ...KEY, id: `k${n}` })()
  hold('again', { ...KEY, id: 'k2999' })()
  hold('open', { ...KEY, id: 'k2999' })
  stored.keys = []
  open.look()
  await yieldTurn()
  t.strictSame(cuts, ['open: auth_required'])
  t.strictSame(asked, [['k2999']])
})

t.test('a key that changed between its reading and the hold is checked', async t => {
  const { hold, cuts } = rig({ isCurrent: () => false, read: async () => [] })
  hold('stream')
  await yieldTurn()
  t.strictSame(cuts, ['stream: auth_required'])
})

t.test('a change during a check is checked too', async t => {
  const gates: (() => void)[] = []
  const states: Key[][] = [[KEY], []]
  const { open, hold, cuts } = rig({
    read: async () => {
      await new Promise<void>(resolve => gates.push(resolve))
      return states.shift() ?? []
    },
  })
  hold('stream')
  open.look('k')
  open.look('k')
  gates[0]?.()
  await yieldTurn()
  t.strictSame(cuts, [])
  gates[1]?.()
  await yieldTurn()
  t.strictSame(cuts, ['stream: auth_required'])
})

t.test('a store that cannot be read is queried again', async t => {
  let fails = true
  const { open, hold, cuts, pass } = rig({
    read: async () => {
      if (fails) throw new RangeError('disk')
      return []
    },
  })
  hold('stream')
  open.look()
  await yieldTurn()
  t.strictSame(cuts, [])
  fails = false
  pass(250)
  await yieldTurn()
  t.strictSame(cuts, ['stream: auth_required'])
})

t.test('a failed cut does not prevent the others', async t => {
  const { open, hold, cuts, stored } = rig()
  open.hold(KEY, {
    cut: () => {
      throw new RangeError('gone')
    },
  })
  hold('other')
  stored.keys = []
  open.look()
  await yieldTurn()
  t.strictSame(cuts, ['other: auth_required'])
})

t.test('the expiry of a key', async t => {
  const createExpiringKey = (expiresAt: number, id = 'k'): Key => ({ ...KEY, id, expiresAt })

  t.test('cuts at its millisecond, with one timer for all', async t => {
    const { hold, cuts, pass, timers } = rig()
    hold('later', createExpiringKey(1900, 'later'))
    hold('soon', createExpiringKey(1300, 'soon'))
    hold('never', KEY)
    t.equal(timers.size, 1)
    pass(299)
    t.strictSame(cuts, [])
    pass(1)
    t.strictSame(cuts, ['soon: auth_required'])
    pass(600)
    t.strictSame(cuts, ['soon: auth_required', 'later: auth_required'])
    t.equal(timers.size, 0, 'nobody looks any more')
  })

  t.test('in the far future is checked each second, as clocks may be adjusted', async t => {
    const { hold, cuts, pass } = rig()
    hold('stream', createExpiringKey(10_000_000))
    for (let n = 0; n < 3; n++) pass(1000)
    t.strictSame(cuts, [])
    pass(10_000_000)
    t.strictSame(cuts, ['stream: auth_required'])
  })

  t.test('that has passed before the hold cuts at the next turn', async t => {
    const { hold, cuts, pass } = rig()
    hold('stream', createExpiringKey(999))
    pass(0)
    t.strictSame(cuts, ['stream: auth_required'])
  })

  t.test('is not tracked after the close', async t => {
    const { open, hold, timers } = rig()
    hold('stream', createExpiringKey(2000))
    open.close()
    t.equal(timers.size, 0)
  })
})
