import fc from 'fast-check'
import t from 'tap'
import { createClones } from '../../../../coordinator/fleet/enrolment/clones.ts'

/** Connects with these boot ids, at these seconds; answers whether the last one was too many. */
const isCloneDetected = (arrivals: [seconds: number, bootId: string][]): boolean => {
  let nowMs = 0
  const clones = createClones(() => nowMs)
  let last = false
  for (const [seconds, bootId] of arrivals) {
    nowMs = seconds * 1000
    last = clones.noteArrival('cell', bootId)
  }
  return last
}

t.test('two machines that share an identity are detected', async t => {
  for (const [what, arrivals, copied] of [
    [
      'a daemon that connects again and again is one machine',
      [
        [0, 'a'],
        [1, 'a'],
        [2, 'a'],
      ],
      false,
    ],
    [
      'a daemon that starts often is one machine',
      [
        [0, 'a'],
        [1, 'b'],
        [2, 'c'],
        [3, 'd'],
      ],
      false,
    ],
    [
      'one return is not enough',
      [
        [0, 'a'],
        [1, 'b'],
        [2, 'a'],
      ],
      false,
    ],
    [
      'three changes with a return are',
      [
        [0, 'a'],
        [1, 'b'],
        [2, 'a'],
        [3, 'b'],
      ],
      true,
    ],
    [
      'both planes of both machines count once',
      [
        [0, 'a'],
        [0, 'a'],
        [1, 'b'],
        [1, 'b'],
      ],
      false,
    ],
    [
      'changes that lie a minute apart do not add up',
      [
        [0, 'a'],
        [1, 'b'],
        [2, 'a'],
        [63, 'b'],
      ],
      false,
    ],
    [
      'a change just within the minute does',
      [
        [0, 'a'],
        [1, 'b'],
        [2, 'a'],
        [60, 'b'],
      ],
      true,
    ],
    [
      'the return may come first',
      [
        [0, 'a'],
        [1, 'b'],
        [2, 'a'],
        [3, 'c'],
      ],
      true,
    ],
    [
      'a thief that sends no boot id is one start',
      [
        [0, 'a'],
        [1, 'none'],
        [2, 'a'],
        [3, 'none'],
      ],
      true,
    ],
  ] as [string, [number, string][], boolean][])
    t.equal(isCloneDetected(arrivals), copied, what)
})

t.test('no sequence of starts of one machine is taken for two machines', async () => {
  fc.assert(
    fc.property(fc.array(fc.record({ waitMs: fc.nat(20_000), restart: fc.boolean() })), steps => {
      let nowMs = 0
      let start = 0
      const clones = createClones(() => nowMs)
      for (const { waitMs, restart } of steps) {
        nowMs += waitMs
        if (restart) start++
        if (clones.noteArrival('cell', `start ${start}`)) return false
      }
      return true
    }),
    { numRuns: 200 },
  )
})

t.test('a released cell starts with a clean history, and cells are independent', async t => {
  const clones = createClones(() => 0)
  for (const bootId of ['a', 'b', 'a']) t.notOk(clones.noteArrival('one', bootId))
  t.notOk(clones.noteArrival('two', 'b'))
  clones.forget('one')
  t.notOk(clones.noteArrival('one', 'b'))
})
