import t from 'tap'
import { Ring } from '../../../../coordinator/fleet/routing/ring.ts'
import { hash32 } from '../../../../coordinator/kernel/base/hash32.ts'

const rig = (members: number) => {
  const clock = { ms: 0 }
  const ring = new Ring<string>(() => clock.ms)
  for (let i = 0; i < members; i++) ring.add(`c${i}`, `c${i}`)
  return { ring, clock }
}
const anyone = (): boolean => true
const places = Array.from({ length: 2000 }, (_, i) => hash32(`conversation ${i}`))
const homes = (ring: Ring<string>) => places.map(place => ring.find(place, anyone))

t.test('the ring', async t => {
  t.test('finds nothing without members', async t => {
    t.equal(rig(0).ring.find(5, anyone), undefined)
  })

  t.test('finds the same member again for any order of joining', async t => {
    const { ring } = rig(20)
    const other = new Ring<string>(() => 0)
    for (let i = 19; i >= 0; i--) other.add(`c${i}`, `c${i}`)
    t.strictSame(homes(ring), homes(other))
  })

  t.test('distributes places roughly evenly', async t => {
    const counts = Map.groupBy(homes(rig(20).ring), home => home ?? '')
    t.equal(counts.size, 20)
    const most = Math.max(...[...counts.values()].map(({ length }) => length))
    t.ok(most < 250, `${most} of 2000 places at one of 20 members`)
  })

  t.test('moves only the places of a member that leaves, at once', async t => {
    const { ring } = rig(20)
    const before = homes(ring)
    ring.remove('c3')
    for (const [i, home] of homes(ring).entries())
      if (before[i] === 'c3') t.not(home, 'c3')
      else if (home !== before[i]) t.fail(`place ${i} moved from ${before[i]} to ${home}`)
  })

  t.test('gives a new member a share, taken from all others', async t => {
    const { ring, clock } = rig(20)
    const before = homes(ring)
    ring.add('new', 'new')
    t.strictSame(homes(ring), before, 'those that join are taken in together, a moment later')
    clock.ms = 100
    const moved = homes(ring).filter((home, i) => home !== before[i])
    t.ok(moved.length > 20 && moved.length < 250, `${moved.length} of 2000 moved`)
    t.ok(moved.every(home => home === 'new'))
  })

  t.test('is unchanged after a member left and came back', async t => {
    const { ring, clock } = rig(20)
    const before = homes(ring)
    for (let i = 0; i < 50; i++) {
      ring.remove('c7')
      ring.add('c7', 'c7')
      clock.ms += 100
      ring.find(0, anyone)
    }
    t.strictSame(homes(ring), before)
  })

  t.test('continues to the next acceptable member, and stops when there is none', async t => {
    const { ring } = rig(3)
    const home = ring.find(77, anyone)
    const next = ring.find(77, member => member !== home)
    t.not(next, home)
    t.equal(ring.find(77, member => member !== home && member !== next) === undefined, false)
    t.equal(
      ring.find(77, () => false),
      undefined,
    )
  })
})
