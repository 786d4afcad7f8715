import type { Test } from 'tap'
import type { HeldLease, Leases } from '../../coordinator/kernel/leases/leases.ts'
import type { Ledger } from '../../coordinator/kernel/store/store.ts'

/** One process on a store: its leases, and the ledger in which its work writes. */
interface LeaseHolder {
  leases: Leases
  ledger: Ledger
}

interface LeaseBench {
  /** Two holders on one store. */
  holders: readonly [LeaseHolder, LeaseHolder]
  /**
   * Moves the clock of the store; the clocks of the holders do not count. Some real time may pass
   * besides.
   */
  advance(milliseconds: number): unknown
}

/** Long beside the real time that a test takes. */
const TENURE_MS = 600_000

const acquireAs = ({ leases }: LeaseHolder, owner: string): Promise<HeldLease | undefined> =>
  leases.acquire({ name: 'sweeper', owner, milliseconds: TENURE_MS })

const require = (lease: HeldLease | undefined): HeldLease => {
  if (lease === undefined) throw new Error('the lease was not granted')
  return lease
}

const isHeld = ({ leases, ledger }: LeaseHolder, lease: HeldLease): Promise<boolean> =>
  ledger.sealed.write(trx => leases.holds(trx, lease))

/** What every implementation of leases must do. */
export const testLeases = (t: Test, open: (t: Test) => Promise<LeaseBench>): void => {
  t.test('a lease has one holder until it is released', async t => {
    const [one, two] = (await open(t)).holders
    const first = require(await acquireAs(one, 'a'))
    t.equal(await acquireAs(two, 'b'), undefined, 'another owner is refused')
    t.ok(await one.leases.acquire({ name: 'other', owner: 'b', milliseconds: TENURE_MS }))
    await one.leases.release(first)
    const second = require(await acquireAs(two, 'b'))
    t.ok(second.epoch > first.epoch, 'the epoch grows with every tenure')
    await one.leases.release(first)
    t.equal(await acquireAs(one, 'a'), undefined, 'a stale release frees nothing')
  })

  t.test(
    'a lease that was not renewed goes to the next owner, and the old one is fenced',
    async t => {
      const { holders, advance } = await open(t)
      const [one, two] = holders
      const first = require(await acquireAs(one, 'a'))
      await advance(TENURE_MS / 2)
      t.equal(await acquireAs(two, 'b'), undefined)
      await advance(TENURE_MS / 2)
      t.notOk(await isHeld(one, first), 'the tenure ends even when nobody follows')
      const second = require(await acquireAs(two, 'b'))
      t.strictSame([await isHeld(one, first), await isHeld(two, second)], [false, true])
      t.equal(await one.leases.renew(first, TENURE_MS), undefined)
    },
  )

  t.test('a renewed lease stays with its owner under the same epoch', async t => {
    const { holders, advance } = await open(t)
    const [one, two] = holders
    const first = require(await acquireAs(one, 'a'))
    await advance(TENURE_MS / 2)
    const renewed = require(await one.leases.renew(first, TENURE_MS))
    t.equal(renewed.epoch, first.epoch)
    await advance(TENURE_MS / 2)
    t.equal(await acquireAs(two, 'b'), undefined)
    t.ok(await isHeld(one, renewed))
    await advance(TENURE_MS / 2)
    t.equal(await one.leases.renew(renewed, TENURE_MS), undefined, 'not after it has run out')
  })

  t.test('an owner that acquires its lease again fences its own earlier tenure', async t => {
    const [one] = (await open(t)).holders
    const first = require(await acquireAs(one, 'a'))
    const second = require(await acquireAs(one, 'a'))
    t.strictSame([await isHeld(one, first), await isHeld(one, second)], [false, true])
  })

  t.test('exactly one of many simultaneous owners gets the lease', async t => {
    const { holders } = await open(t)
    const asked = Array.from({ length: 40 }, (_, n) =>
      acquireAs(holders[n % 2 === 0 ? 0 : 1], `owner-${n}`),
    )
    const granted = (await Promise.all(asked)).filter(lease => lease !== undefined)
    t.equal(granted.length, 1)
  })
}
