import t from 'tap'
import { isLinearizable, type SequentialModel, type TimedCall } from '../support/linearizability.ts'

/** A register: reads return what was written last. */
const register: SequentialModel<number, { write?: number }, number> = {
  initial: 0,
  step: (state, { write }, output) => {
    if (write !== undefined) return write
    return output === undefined || output === state ? state : undefined
  },
}

type Call = TimedCall<{ write?: number }, number>
const call = (
  calledAt: number,
  returnedAt: number,
  input: Call['input'],
  output?: number,
): Call => ({
  input,
  output,
  calledAt,
  returnedAt,
})

t.test('a history', async t => {
  for (const [title, calls, isRight] of [
    ['of nothing is linearizable', [], true],
    ['of one client is', [call(0, 1, { write: 1 }, 0), call(2, 3, {}, 1)], true],
    ['with a stale read is not', [call(0, 1, { write: 1 }, 0), call(2, 3, {}, 0)], false],
    ['with a read during the write is', [call(0, 9, { write: 1 }, 0), call(2, 3, {}, 0)], true],
    [
      'in which a value goes back is not',
      [call(0, 9, { write: 1 }, 0), call(2, 3, {}, 1), call(4, 5, {}, 0)],
      false,
    ],
    [
      'with a lost write that is seen later is',
      [call(0, Number.POSITIVE_INFINITY, { write: 1 }), call(2, 3, {}, 0), call(4, 5, {}, 1)],
      true,
    ],
    [
      'with a lost write that is seen and gone is not',
      [call(0, Number.POSITIVE_INFINITY, { write: 1 }), call(2, 3, {}, 1), call(4, 5, {}, 0)],
      false,
    ],
  ] as const)
    t.test(title, async t => {
      t.equal(isLinearizable(register, calls), isRight)
    })
})

/** Clients at a real register, each call at a random point of its interval. */
const play = (clients: number, rounds: number): Call[] => {
  const planned = Array.from({ length: clients * rounds }, (_, n) => {
    const calledAt = Math.floor(n / clients) * 10 + Math.random() * 8
    const returnedAt = calledAt + Math.random() * 8
    const at = calledAt + Math.random() * (returnedAt - calledAt)
    return { calledAt, returnedAt, at, input: Math.random() < 0.5 ? { write: n } : {} }
  })
  let value = 0
  return planned
    .toSorted((a, b) => a.at - b.at)
    .map(({ calledAt, returnedAt, input }) => {
      if (input.write !== undefined) value = input.write
      return call(calledAt, returnedAt, input, value)
    })
}

t.test('a planted stale read among 1,600 calls of 16 clients is found', async t => {
  const calls = play(16, 100)
  t.ok(isLinearizable(register, calls))
  const reads = calls.filter(({ input, calledAt }) => input.write === undefined && calledAt > 500)
  const stale = reads[0] as Call
  const old = calls.find(({ input }) => input.write !== undefined) as Call
  t.notOk(
    isLinearizable(
      register,
      calls.map(each => (each === stale ? { ...each, output: old.input.write } : each)),
    ),
  )
})
